import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import {
  createTempDir,
  createTestDatabase,
  type Engine,
  engines,
  freePort,
  startProcess,
  waitFor,
} from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createBank, readPaid } from './bank-plugin.ts';
import { openSocket } from './connect-socket.ts';
import { collectFrames, type Frame, readFrames, readUntil } from './read-frames.ts';
import { createTestUser, request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const pay = (amount: number, to = 'ben') => `/tool pay ${JSON.stringify({ to, amount, pin: 'pin-4711' })}`;
const answerOf = (user: TestUser, { runId, approvalId }: Frame['data'], approved: boolean, reason?: string) =>
  user.send('POST', `/runs/${runId}/approvals/${approvalId}`, { approved, ...(reason && { reason }) });

/** Sends a message whose tool asks for approval; gives the stream after the request. */
async function ask(user: TestUser, sessionId: string, message: string) {
  const frames = readFrames(await user.stream(sessionId, message));
  const asked = (await readUntil(frames, 'approval_request')).at(-1)?.data;
  return { frames, asked };
}

describe.each(engines)('approval on %s', (engine) => {
  let agent: TestAgent;
  let paidFile: string;
  let dir: Awaited<ReturnType<typeof createTempDir>>;
  let ana: TestUser;
  beforeAll(async () => {
    dir = await createTempDir();
    paidFile = `${dir.path}/paid`;
    agent = await startTestAgent({
      engine,
      plugins: [createBank(paidFile)],
      env: { OPERATOR_TOKEN: 'operator-token-1' },
    });
    ana = await agent.createUser();
  });
  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });

  test('given, runs the tool once, and the same answer again changes nothing', async () => {
    const sessionId = await ana.createSession();
    const small = (await ana.say(sessionId, pay(5))).body.message;
    expect(small).toMatchObject({
      status: 'complete',
      toolCalls: [{ name: 'pay', status: 'done', args: { to: 'ben' } }],
    });
    expect(small.approvals).toBeUndefined();
    const { frames, asked } = await ask(ana, sessionId, pay(50));
    expect(asked).toMatchObject({ toolName: 'pay', args: { to: 'ben', amount: 50 }, status: 'pending' });
    expect(readPaid(paidFile)).toEqual(['ben 5']);
    expect(await ana.liveRun(sessionId)).toMatchObject({
      runId: asked.runId,
      status: 'waiting',
      approvals: [{ approvalId: asked.approvalId, status: 'pending' }],
    });
    const ben = await agent.createUser();
    expect((await answerOf(ben, asked, true)).body.code).toBe('RUN_NOT_FOUND');
    expect((await answerOf(ana, { ...asked, approvalId: 'none' }, true)).body.code).toBe('APPROVAL_NOT_FOUND');
    const given = await answerOf(ana, asked, true);
    expect(given.body.approval).toMatchObject({ status: 'approved', answeredBy: ana.did });
    expect(await answerOf(ana, asked, true)).toMatchObject({ status: 200, body: given.body });
    expect(await answerOf(ana, asked, false)).toMatchObject({ status: 409, body: { code: 'APPROVAL_ANSWERED' } });

    const rest = await readUntil(frames, 'done');
    const events = rest.map(({ event, data }) => (data.status ? `${event} ${data.status}` : event));
    expect(events.slice(0, 3)).toEqual(['approval_request approved', 'tool_call isRunning', 'tool_call done']);
    expect(events.at(-1)).toBe('done complete');
    const message = (await ana.messages(sessionId)).at(-1);
    expect(message.parts.map(({ type }: { type: string }) => type)).toEqual([
      'reasoning',
      'approval',
      'tool_call',
      'text',
    ]);
    expect(message).toMatchObject({ status: 'complete', approvals: [given.body.approval] });
    expect(message.toolCalls[0].id).toBe(asked.toolCallId);
    expect(readPaid(paidFile)).toEqual(['ben 5', 'ben 50']);
    expect(JSON.stringify([message.toolCalls, message.approvals, rest])).not.toContain('pin-4711');
    expect(agent.log()).not.toContain('pin-4711');
    const audit = await fetch(`${agent.url}/audit?action=approval.answered`, {
      headers: { authorization: 'Bearer operator-token-1' },
    });
    const { lines } = (await audit.json()) as { lines: { details: unknown }[] };
    expect(lines).toMatchObject([{ details: { runId: asked.runId, tool: 'pay', answer: 'approved' } }]);
  });

  test('refused, keeps the tool from running, and the model reads why', async () => {
    const before = readPaid(paidFile);
    const sessionId = await ana.createSession();
    const { frames, asked } = await ask(ana, sessionId, pay(60));
    await answerOf(ana, asked, false, 'too much for one day');
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
    const message = (await ana.messages(sessionId)).at(-1);
    const error = 'APPROVAL_REFUSED: the user did not approve this call. It was not run. Reason: too much for one day';
    expect(message.toolCalls).toMatchObject([{ name: 'pay', status: 'error', error }]);
    expect(message.content).toContain('APPROVAL_REFUSED');
    expect(readPaid(paidFile)).toEqual(before);
  });

  test('pending, is refused by the next message, which is answered after it', async () => {
    const before = readPaid(paidFile);
    const sessionId = await ana.createSession();
    const { frames } = await ask(ana, sessionId, pay(70));
    const next = await ana.say(sessionId, 'hello');
    const [refused] = await readUntil(frames, 'approval_request');
    expect(refused?.data).toMatchObject({ status: 'refused', reason: 'The user sent another message instead.' });
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
    expect(next.body.message.status).toBe('complete');
    expect(readPaid(paidFile)).toEqual(before);
  });

  test('pending, ends with an abort, and cannot be given after it', async () => {
    const before = readPaid(paidFile);
    const sessionId = await ana.createSession();
    const { frames, asked } = await ask(ana, sessionId, pay(80));
    expect((await ana.abort(sessionId)).body.aborted).toBe(true);
    const rest = await readUntil(frames, 'done');
    expect(rest.map(({ data }) => data.status)).toEqual(['refused', 'aborted']);
    expect(await answerOf(ana, asked, true)).toMatchObject({ status: 409 });
    expect((await ana.messages(sessionId)).at(-1).approvals).toMatchObject([{ status: 'refused' }]);
    expect(readPaid(paidFile)).toEqual(before);
  });

  test('answered by a socket, is acknowledged and shown to every tab', async () => {
    const sessionId = await ana.createSession();
    const connect = () => openSocket(agent.url, { query: { sessionId }, auth: { invocation: ana.invocation } });
    const [tab, other] = [connect(), connect()];
    await Promise.all([tab.event('connected'), other.event('connected')]);
    const { frames } = await ask(ana, sessionId, pay(90));
    const { runId, approvalId, requestId, payload } = await tab.event('approval_request');
    expect(requestId).toEqual(expect.any(String));
    // The older library shows every event as a message whose enveloped payload has both ids.
    expect(payload).not.toHaveProperty('requestId');
    const respond = (answer: object) => tab.socket.emitWithAck('approval_response', answer);
    expect(await respond({ runId, approvalId })).toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await respond({ runId, approvalId: 'x', approved: true })).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    expect(await respond({ runId, approvalId, approved: true })).toMatchObject({ approval: { status: 'approved' } });
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
    await waitFor('both events on the other tab', () => {
      const shown = other.events.filter(({ name }) => name === 'approval_request');
      return shown.map(({ payload }) => payload.status).join() === 'pending,approved';
    });
    tab.socket.close();
    other.socket.close();
  });

  test('survives a restart of the service, and so does the right to abort', async () => {
    const before = readPaid(paidFile);
    const [first, second] = [await ana.createSession(), await ana.createSession()];
    const asked = [await ask(ana, first, pay(100)), await ask(ana, second, pay(110))];
    await agent.restart();
    expect(await ana.liveRun(first)).toMatchObject({ status: 'waiting', approvals: [{ toolName: 'pay' }] });
    await answerOf(ana, asked[0]?.asked, true);
    const replay = await collectFrames(await ana.follow(asked[0]?.asked.runId));
    expect(replay.at(-1)?.data.status).toBe('complete');
    expect(replay.map(({ id }) => id)).toEqual(replay.map((_, index) => index + 1));
    expect((await ana.abort(second)).body.aborted).toBe(true);
    await waitFor('the end of the second', async () => (await ana.liveRun(second)) === null);
    expect((await ana.messages(second)).at(-1)).toMatchObject({
      status: 'aborted',
      approvals: [{ status: 'refused' }],
    });
    expect(readPaid(paidFile)).toEqual([...before, 'ben 100']);
  });

  test('not given in time, counts as refused', async () => {
    await using own = await startTestAgent({
      engine,
      plugins: [createBank(paidFile)],
      env: { APPROVAL_TIMEOUT_MS: '1000' },
    });
    const cai = await own.createUser();
    const sessionId = await cai.createSession();
    const { message } = (await cai.say(sessionId, pay(120))).body;
    expect(message).toMatchObject({ status: 'complete', approvals: [{ status: 'expired' }] });
    expect(message.toolCalls[0].error).toMatch(/^APPROVAL_EXPIRED/);
    expect(readPaid(paidFile)).not.toContain('ben 120');
  });
});

const bankAgent = fileURLToPath(new URL('./bank-agent.ts', import.meta.url));
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What is needed to start the agent with the bank as processes of one deployment. */
async function prepare(engine: Engine) {
  const database = await createTestDatabase(engine);
  const dir = await createTempDir();
  cleanups.push(
    () => database[Symbol.asyncDispose](),
    () => dir[Symbol.asyncDispose](),
  );
  const key = await createSigner();
  const signer = await createSigner();
  const paidFile = `${dir.path}/paid`;
  return {
    database,
    paid: () => readPaid(paidFile),
    async start() {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const started = startProcess(process.execPath, [bankAgent], {
        env: {
          PORT: String(port),
          DATA_DIR: dir.path,
          DATABASE_URL: database.url,
          ORACLE_PRIVATE_KEY: key.toSecret(),
          PAID_FILE: paidFile,
        },
      });
      cleanups.push(async () => {
        started.kill('SIGKILL');
        await started.exited;
      });
      await waitFor('the service', async () => (await request(`${url}/health`)).status === 200, 60_000);
      return { ...started, user: await createTestUser({ url: () => url, audience: key.did(), signer }) };
    },
  };
}

// On PostgreSQL an instance counts as dead after 10 s without a heartbeat.
describe.each(engines)('killed on %s', { timeout: 120_000 }, (engine) => {
  test('while a run waits, it waits on, and the answer runs the tool once; killed in the tool, it is not repeated', async () => {
    const { start, paid } = await prepare(engine);
    const first = await start();
    const sessionId = await first.user.createSession();
    const { asked, frames } = await ask(first.user, sessionId, pay(50));
    const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
    first.kill('SIGKILL');
    await Promise.all([first.exited, cut]);

    const second = await start();
    expect(await second.user.liveRun(sessionId)).toMatchObject({
      status: 'waiting',
      approvals: [{ approvalId: asked.approvalId }],
    });
    expect((await answerOf(second.user, asked, true)).status).toBe(200);
    const replay = await collectFrames(await second.user.follow(asked.runId));
    expect(replay.at(-1)?.data.status).toBe('complete');
    expect(paid()).toEqual(['ben 50']);

    const crash = await ask(second.user, sessionId, pay(60, 'crash'));
    const lost = expect(readUntil(crash.frames, 'done')).rejects.toThrow();
    await answerOf(second.user, crash.asked, true).catch(() => undefined);
    await Promise.all([second.exited, lost]);
    const third = await start();
    await waitFor('the end of the run', async () => (await third.user.liveRun(sessionId)) === null, 60_000);
    expect((await third.user.messages(sessionId)).at(-1)).toMatchObject({
      status: 'failed',
      approvals: [{ status: 'approved' }],
    });
    expect(paid()).toEqual(['ben 50', 'crash 60']);
  });
});

test('asked, but lost with the process before its frame was stored, is asked again after the restart', {
  timeout: 120_000,
}, async () => {
  const { start, paid, database } = await prepare('sqlite');
  const first = await start();
  const sessionId = await first.user.createSession();
  first.kill('SIGKILL');
  await first.exited;
  const change = (statement: string) => {
    using db = new DatabaseSync(database.url.replace(/^file:/, ''));
    db.exec(statement);
  };
  change(`create trigger lose_frames before insert on agent_frame when new.body like '%approval_request%'
    begin select raise(abort, 'lost'); end`);
  const second = await start();
  const { asked, frames } = await ask(second.user, sessionId, pay(50));
  const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
  second.kill('SIGKILL');
  await Promise.all([second.exited, cut]);
  change('drop trigger lose_frames');

  const third = await start();
  const again = readFrames(await third.user.follow(asked.runId));
  const repeated = (await readUntil(again, 'approval_request')).at(-1)?.data;
  expect(repeated).toMatchObject({ approvalId: asked.approvalId, status: 'pending' });
  expect((await answerOf(third.user, repeated, true)).status).toBe(200);
  expect((await readUntil(again, 'done')).at(-1)?.data.status).toBe('complete');
  expect(paid()).toEqual(['ben 50']);
});

test('answered on another instance: its owner continues, and where that is dead, another one', {
  timeout: 120_000,
}, async () => {
  const { start, paid } = await prepare('postgres');
  const [one, two] = [await start(), await start()];
  const sessionId = await one.user.createSession();
  const first = await ask(one.user, sessionId, pay(50));
  expect((await answerOf(two.user, first.asked, true)).status).toBe(200);
  expect((await readUntil(first.frames, 'done')).at(-1)?.data.status).toBe('complete');

  const second = await ask(one.user, sessionId, pay(60));
  const cut = expect(readUntil(second.frames, 'done')).rejects.toThrow();
  // The owner cannot read the answer any more when it comes.
  one.kill('SIGSTOP');
  expect((await answerOf(two.user, second.asked, true)).status).toBe(200);
  one.kill('SIGKILL');
  await Promise.all([one.exited, cut]);
  const replay = await collectFrames(await two.user.follow(second.asked.runId));
  expect(replay.at(-1)?.data.status).toBe('complete');
  expect(paid()).toEqual(['ben 50', 'ben 60']);
});
