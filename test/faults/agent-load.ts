import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInvocation, createSigner, parseSigner } from '@palaver/ucan';
import { createCallers, type Load, pickUrl, readRows, type Tally } from './load.ts';
import { agentKey, type World } from './world.ts';

const callers = 4;
/** Callers of one session, so that their turns wait for each other. */
const callersPerSession = 2;
const turnsPerSession = 6;
const requestMs = 30_000;
const settleMs = 60_000;
const words = 20;
/** With the reason why a run has not ended: who owns it, and the last heartbeat of that instance. */
const liveRuns = `select run.session_id, run.id, run.number, run.status, run.epoch, run.aborting, run.instance,
    run.created_at, run.started_at, owner.seen_at, (select max(seen_at) from agent_instance) as latest_seen_at
  from agent_run as run left join agent_instance as owner on owner.id = run.instance
  where run.ended_at is null order by run.session_id, run.number`;

interface Turn {
  sessionId: string;
  question: string;
  /** What `done: complete` confirmed. */
  answer?: { messageId: string; text: string };
}

/**
 * Users who send one message after the other, two of them in each session, and read the stream to its end; a stream that
 * breaks off is read on by its run, at whichever instance answers.
 */
export async function createAgentLoad(world: World, options: { leaveEarly?: boolean } = {}): Promise<Load> {
  const agent = await parseSigner(agentKey);
  if (!agent.ok) throw new Error(agent.error.message);
  const user = await createSigner();
  const capability = { can: 'oracle/chat', with: 'ixo:oracle' } as const;
  // A series may take longer than a token lives.
  const mint = () => createInvocation({ issuer: user, audience: agent.ok.did(), capability });
  let invocation = await mint();
  async function toHeaders() {
    if (invocation.expiresAt * 1000 < Date.now() + 60_000) invocation = await mint();
    return {
      authorization: `Bearer ${invocation.serialized}`,
      'x-auth-type': 'ucan',
      'content-type': 'application/json',
    };
  }
  const turns: Turn[] = [];
  const sessions: (Promise<string> | undefined)[] = [];
  let turn = 0;
  let confirmedAt = 0;

  const send = async (url: string, method: string, path: string, body?: object) =>
    fetch(url + path, {
      method,
      headers: await toHeaders(),
      signal: AbortSignal.timeout(requestMs),
      ...(body && { body: JSON.stringify(body) }),
    });

  async function createSession(url: string): Promise<string> {
    const response = await send(url, 'POST', '/sessions', {});
    if (response.status !== 201) throw new Error(`${response.status}`);
    return ((await response.json()) as { sessionId: string }).sessionId;
  }

  /** The session that a caller shares with others; a new one now and then. */
  async function openSession(caller: number, number: number): Promise<string> {
    const place = Math.floor(caller / callersPerSession);
    if (caller % callersPerSession === 0 && number % turnsPerSession === 0) sessions[place] = undefined;
    const session = sessions[place] ?? createSession(pickUrl(world, turn));
    sessions[place] = session;
    return session.catch((error) => {
      sessions[place] = undefined;
      throw error;
    });
  }

  /** Reads a run to its end, over as many connections as it takes. */
  async function readToEnd(response: Response): Promise<Turn['answer']> {
    const runId = response.headers.get('x-run-id');
    let text = await readSome(response);
    const deadline = performance.now() + settleMs;
    while (runId && !text.includes('event: done\n') && performance.now() < deadline) {
      turn += 1;
      const after = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? '0';
      const more = await send(pickUrl(world, turn), 'GET', `/runs/${runId}?after=${after}`).catch(() => undefined);
      if (more?.ok) text += await readSome(more);
      else await sleep(100);
    }
    return readAnswer(text);
  }

  async function ask(caller: number, number: number): Promise<void> {
    turn += 1;
    const url = pickUrl(world, turn);
    const sessionId = await openSession(caller, number);
    const entry: Turn = { sessionId, question: `/long ${words}` };
    turns.push(entry);
    if (options.leaveEarly && turn % 3 === 0) {
      const signal = AbortSignal.timeout(50 + (turn % 100));
      const body = JSON.stringify({ message: entry.question, stream: true });
      const init = { method: 'POST', headers: await toHeaders(), body, signal };
      await fetch(`${url}/messages/${sessionId}`, init)
        .then((left) => left.text())
        .catch(() => {});
      return;
    }
    const sent = { message: entry.question, stream: true, requestId: randomUUID() };
    const response = await send(url, 'POST', `/messages/${sessionId}`, sent);
    if (!response.ok) throw new Error(`${response.status}`);
    entry.answer = await readToEnd(response);
    if (entry.answer) confirmedAt = performance.now();
  }

  async function caller(index: number, isStopped: () => boolean): Promise<void> {
    for (let number = 0; !isStopped(); number += 1) await ask(index, number).catch(() => sleep(100));
  }

  /** One line for each run that has not ended though nobody sends any more. */
  async function findStuck(): Promise<string[]> {
    const deadline = performance.now() + settleMs;
    const sent = new Set(turns.map(({ sessionId }) => sessionId));
    for (;;) {
      const rows = (await readRows(world, liveRuns)).filter((row) => sent.has(row.session_id as string));
      if (rows.length === 0 || performance.now() >= deadline) return rows.map((row) => `never ended: ${toFields(row)}`);
      await sleep(500);
    }
  }

  return {
    ...createCallers(callers, caller),
    lastConfirmed: () => confirmedAt,
    async check(): Promise<Tally> {
      const stuck = await findStuck();
      const findings = [...stuck];
      const rows = await readRows(world, 'select id, session_id, type, content, status from agent_message');
      const bySession = Map.groupBy(rows, (row) => row.session_id);
      let lost = 0;
      let doubled = 0;
      for (const [sessionId, sent] of Map.groupBy(turns, (entry) => entry.sessionId)) {
        const stored = bySession.get(sessionId) ?? [];
        const asked = stored.filter(({ type }) => type === 'human').length;
        doubled += Math.max(0, asked - sent.length) + Math.max(0, stored.length - 2 * asked);
      }
      for (const { sessionId, answer } of turns) {
        const stored = bySession.get(sessionId) ?? [];
        if (!answer) continue;
        const kept = stored.find(({ id }) => id === answer.messageId);
        if (kept?.status === 'complete' && kept.content === answer.text) continue;
        lost += 1;
        findings.push(
          `answer ${answer.messageId} was complete and is ${kept ? `${kept.status}: ${kept.content}` : 'gone'}`,
        );
      }
      const confirmed = turns.filter(({ answer }) => answer).length;
      return { confirmed, lost, doubled, stuck: stuck.length, findings };
    },
  };
}

const toFields = (row: Record<string, unknown>) =>
  Object.entries(row)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');

/** Whole frames only: the last one of a stream that broke off may be cut. */
async function readSome(response: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
  } catch {
    // The instance died; what came before counts.
  }
  return text.slice(0, text.lastIndexOf('\n\n') + 2);
}

/** The answer of a stream that ended with `done: complete`. */
function readAnswer(stream: string): Turn['answer'] {
  let text = '';
  for (const block of stream.split('\n\n')) {
    const [, event, json] = /^event: (\w+)\nid: \d+\ndata: (.*)$/.exec(block) ?? [];
    if (!json) continue;
    const data = JSON.parse(json) as { content?: string; status?: string; messageId?: string };
    if (event === 'message') text += data.content ?? '';
    if (event === 'done' && data.status === 'complete' && data.messageId) return { messageId: data.messageId, text };
  }
  return undefined;
}
