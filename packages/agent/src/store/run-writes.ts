import { AppError, agentLimits, type EndedRunStatus, type Message, type RunStatus } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { sql, type Transaction } from 'kysely';
import type { TransitionName } from '../runs/transitions.ts';
import { type Prefixed, type StoredMessage, toMessageRow, toPrefixed } from './message.ts';
import { isActive } from './messages.ts';
import {
  bigint,
  createRunTransitions,
  createStatements,
  integer,
  type NewRun,
  type OwnedRun,
  text,
} from './run-transitions.ts';
import { type AgentDatabase, sealedTables } from './schema.ts';

export interface RunBegin extends Omit<NewRun, 'maxLive'> {
  question: StoredMessage;
  send?: SendKey | undefined;
  /** The outcome of an earlier try is unknown: it may have been committed, or may be yet. */
  isRepeated?: boolean;
}

export type SendKey = { key: string; bodyHash: string };

export type BeginResult =
  /** `aborted`: the live runs whose messages it replaces. From now on they can only end as aborted. */
  | { kind: 'begun'; status: 'queued' | 'running'; epoch: number; aborted: string[] }
  /** An earlier try was committed, and the run has another owner by now or has ended. */
  | { kind: 'moved' }
  /** The question that it replaces is not part of the conversation any more. */
  | { kind: 'replaced' }
  | { kind: 'taken' }
  | { kind: 'busy' }
  | { kind: 'gone' }
  | { kind: 'known'; runId: string; bodyHash: string };

export type Frames = { first: number; last: number; body: string };

export interface RunEnd extends OwnedRun {
  sessionId: string;
  status: EndedRunStatus;
  answer: Message;
  usage: { inputTokens: number; outputTokens: number };
  /** Names the session if it has no name yet. */
  title: string | undefined;
  /** The frames that are not stored yet, `done` included. */
  toFrames(status: EndedRunStatus): Frames;
}

export type StepBegin = OwnedRun & { number: number; said: number; body: string };
type StepEnd = OwnedRun & { number: number; outcomes: string };
/** `body` and `abortedBody`: the last frames for either way the run may end. */
type EndRow = OwnedRun &
  RunEnd['usage'] &
  Frames & { title: string | null; abortedBody: string } & Prefixed<
    Pick<ReturnType<typeof toMessageRow>, 'id' | 'position' | 'content' | 'requestId' | 'extras' | 'createdAt'>
  >;

/** A write of frames whose reply was lost is repeated with those that came since, and may itself come last. */
const unlessLonger = sql`on conflict (run_id, first) do update set last = excluded.last, body = excluded.body
  where excluded.last >= agent_frame.last`;

const endOf = { complete: 'complete', failed: 'fail', aborted: 'stop' } as const satisfies Record<
  EndedRunStatus,
  TransitionName
>;

export function createRunWrites(store: Store<AgentDatabase>) {
  const { cipher } = store;
  const now = databaseTime(store.engine);
  const statements = prepareStatements(store);
  const { define, inGroup, ...begins } = createRunTransitions(store);
  const start = define('start');
  const abort = define('abort');
  const abortReplaced = define('replace');
  const addFrames = define<'frames', OwnedRun & Frames>('frames', [
    (frames, run) => sql`insert into agent_frame (run_id, first, last, body, created_at)
      select run.id, ${bigint(frames.first)}, ${bigint(frames.last)}, ${text(frames.body)}, ${now}
      from ${run} as run where true ${unlessLonger}`,
  ]);
  const beginStep = define<'step', StepBegin>('step', [
    (step, run) => sql`insert into agent_step (run_id, number, said, body, created_at)
      select run.id, ${integer(step.number)}, ${integer(step.said)}, ${text(step.body)}, ${now}
      from ${run} as run where true
      on conflict (run_id, number) do update set created_at = excluded.created_at`,
  ]);
  const endStep = define<'outcomes', StepEnd>('outcomes', [
    (step, run) => sql`update agent_step set outcomes = ${text(step.outcomes)} from ${run} as run
      where agent_step.run_id = run.id and agent_step.number = ${integer(step.number)}`,
  ]);
  const defineEnd = (name: (typeof endOf)[EndedRunStatus]) =>
    define<typeof name, EndRow>(name, [
      // The first exchange names a session; of several sent at once, the first to end.
      (end, run) => sql`update agent_session set updated_at = ${now},
        title = case when named = 0 then coalesce(${text(end.title)}, title) else title end,
        named = case when ${text(end.title)} is null then named else 1 end
        from ${run} as run where agent_session.id = run.session_id`,
      (end, run) => sql`insert into agent_message
        (id, session_id, run_id, position, number, type, content, status, request_id, extras, created_at)
        select ${text(end.message_id)}, run.session_id, run.id, ${text(end.message_position)},
          2 * run.number + 1, 'ai', ${text(end.message_content)}, run.status,
          ${text(end.message_requestId)}, ${text(end.message_extras)},
          ${bigint(end.message_createdAt)}
        from ${run} as run where true on conflict (id) do nothing`,
      (end, run) => sql`insert into agent_frame (run_id, first, last, body, created_at)
        select run.id, ${bigint(end.first)}, ${bigint(end.last)},
          case run.status when 'aborted' then ${text(end.abortedBody)} else ${text(end.body)} end, ${now}
        from ${run} as run where true ${unlessLonger}`,
    ]);
  const ends = { complete: defineEnd('complete'), fail: defineEnd('fail'), stop: defineEnd('stop') };

  const hashBody = ({ bodyHash }: SendKey) => cipher.hash(bodyHash, 'agent_send');
  /** The hash that a send came with where it is the one stored; one from before there was a key is stored as it came. */
  const toBodyHash = (stored: string, send: SendKey | undefined) =>
    send && stored === hashBody(send) ? send.bodyHash : stored;
  const sealMessage = <Row extends { id: string }>(row: Row) => cipher.sealRow(sealedTables.message, row);
  const sealFrames = ({ runId }: { runId: string }, { first, last, body }: Frames): Frames => ({
    first,
    last,
    body: cipher.sealRow(sealedTables.frame, { run_id: runId, first, body }).body,
  });
  const toNewRun = ({ runId, sessionId, userDid, requestId, answerId, instance, model, input }: RunBegin) => ({
    runId,
    sessionId,
    userDid,
    requestId,
    answerId,
    instance,
    model,
    input: cipher.sealRow(sealedTables.run, { id: runId, input }).input,
    maxLive: agentLimits.queuedTurnsPerSession,
  });

  async function begin(trx: Transaction<AgentDatabase>, run: RunBegin): Promise<BeginResult> {
    const { runId, sessionId, userDid, send } = run;
    const [taken] = await statements.takeNumber({ sessionId }, trx);
    if (!taken) return { kind: 'gone' };
    const [own] = run.isRepeated ? await statements.findRun({ runId }, trx) : [];
    if (own) return toRepeated(own);
    const [earlier] = send ? await statements.findSend({ userDid, key: send.key }, trx) : [];
    if (earlier) return { kind: 'known', runId: earlier.run_id, bodyHash: toBodyHash(earlier.body_hash, send) };
    const { replaces } = run.question;
    if (replaces && (await statements.findQuestion({ sessionId, id: replaces }, trx)).length === 0)
      return { kind: 'replaced' };
    if ((await statements.findMessage({ id: run.question.id }, trx)).length > 0) return { kind: 'taken' };
    const number = taken.run_count;
    const [begun] = await begins.begin({ ...toNewRun(run), number }, trx);
    if (!begun) return { kind: 'busy' };
    let aborted: string[] = [];
    if (replaces) {
      await statements.replaceMessages({ sessionId, replaces, number }, trx);
      await statements.dropSummary({ sessionId, number }, trx);
      aborted = (await abortReplaced({ sessionId, number }, trx)).map(({ id }) => id);
    }
    const question = sealMessage(toMessageRow(runId, run.question));
    const saved = await statements.saveQuestion({ ...question, sessionId, runId, number: 2 * number }, trx);
    if (saved.length === 0) throw new AppError('CONFLICT', 'There is a message with this id.');
    if (send) await statements.insertSend({ userDid, runId, key: send.key, bodyHash: hashBody(send) }, trx);
    return { kind: 'begun', status: begun.status, epoch: 1, aborted };
  }

  async function beginAtOnce(run: RunBegin): Promise<BeginResult> {
    const message = toPrefixed(sealMessage(toMessageRow(run.runId, run.question)));
    const [begun] = (await begins.beginAtOnce?.({ ...toNewRun(run), ...message })) ?? [];
    if (!begun?.found) return { kind: 'gone' };
    if (begun.status === null) return { kind: 'busy' };
    return { kind: 'begun', status: begun.status, epoch: 1, aborted: [] };
  }

  return {
    async begin(run: RunBegin): Promise<BeginResult> {
      const isPlain = begins.beginAtOnce && !run.isRepeated && !run.send && !run.question.replaces;
      try {
        return await (isPlain ? beginAtOnce(run) : inGroup((trx) => begin(trx, run)));
      } catch (error) {
        // Another run of the session, or another message with this key, came at the same moment: now it is found.
        if (!isConflict(error)) throw error;
        return inGroup((trx) => begin(trx, run));
      }
    },
    /** The status it ended with (`aborted` where an abort was confirmed); undefined if it has another owner or is gone. */
    async end(run: RunEnd): Promise<EndedRunStatus | undefined> {
      const { runId, epoch, sessionId, status, usage } = run;
      const { title } = cipher.sealRow(sealedTables.session, { id: sessionId, title: run.title ?? null });
      const { body: abortedBody } = sealFrames(run, run.toFrames('aborted'));
      const { id, position, content, requestId, extras, createdAt } = sealMessage(toMessageRow(runId, run.answer));
      const message = toPrefixed({ id, position, content, requestId, extras, createdAt });
      const frames = sealFrames(run, run.toFrames(status));
      const [moved] = await ends[endOf[status]]({ runId, epoch, ...usage, title, ...frames, abortedBody, ...message });
      return moved?.status as EndedRunStatus | undefined;
    },
    addFrames: async (run: OwnedRun, frames: Frames): Promise<boolean> =>
      (await addFrames({ ...run, ...sealFrames(run, frames) })).length > 0,
    /** False if the run has ended, is aborted or has another owner. */
    async beginStep(step: StepBegin): Promise<boolean> {
      const { runId: run_id, number, body } = step;
      const sealed = cipher.sealRow(sealedTables.step, { run_id, number, body });
      return (await beginStep({ ...step, body: sealed.body })).length > 0;
    },
    async endStep(step: StepEnd): Promise<boolean> {
      const { runId: run_id, number, outcomes } = step;
      const sealed = cipher.sealRow(sealedTables.step, { run_id, number, outcomes });
      return (await endStep({ ...step, outcomes: sealed.outcomes })).length > 0;
    },

    /** True if every run before it in its session has ended, and its abort is not confirmed. Repeatable. */
    start: async (run: OwnedRun): Promise<boolean> => (await start(run)).length > 0,

    /** Confirms an abort, but not of a run added or begun in the last `elapsedMs`: the request meant the one before. */
    requestAbort: async (runId: string, elapsedMs: number): Promise<boolean> =>
      (await abort({ runId, elapsedMs: Math.ceil(elapsedMs) })).length > 0,

    async findSend(userDid: string, send: SendKey): Promise<{ runId: string; bodyHash: string } | undefined> {
      const [row] = await statements.findSend({ userDid, key: send.key });
      return row && { runId: row.run_id, bodyHash: toBodyHash(row.body_hash, send) };
    },
  };
}

/** Of a begin that was committed, although its reply was lost. */
function toRepeated({ status, epoch }: { status: RunStatus; epoch: number }): BeginResult {
  const isOwn = epoch === 1 && (status === 'queued' || status === 'running');
  return isOwn ? { kind: 'begun', status, epoch, aborted: [] } : { kind: 'moved' };
}

function isConflict(error: unknown): boolean {
  return ['23505', '40P01'].includes((error as { code?: string }).code ?? '');
}

function prepareStatements(store: Store<AgentDatabase>) {
  const now = databaseTime(store.engine);
  const statement = createStatements(store);
  return {
    /** Locks the session, so that the runs of a session begin one after the other. */
    takeNumber: statement(
      (p: { sessionId: string }) => sql<{ run_count: number }>`update agent_session
        set run_count = run_count + 1, updated_at = ${now} where id = ${p.sessionId} returning run_count`,
    ),
    findRun: statement(
      (p: { runId: string }) =>
        sql<{ status: RunStatus; epoch: number }>`select status, epoch from agent_run where id = ${p.runId}`,
    ),
    findMessage: statement((p: { id: string }) => sql`select id from agent_message where id = ${p.id}`),
    findQuestion: statement(
      (p: { sessionId: string; id: string }) => sql`select id from agent_message
        where id = ${p.id} and session_id = ${p.sessionId} and type = 'human' and ${isActive}`,
    ),
    /** The run with this number replaces the question and everything after it. */
    replaceMessages: statement(
      (p: { sessionId: string; replaces: string; number: number }) => sql`insert into agent_replaced
        (session_id, first, last) select session_id, number, 2 * ${bigint(p.number)} from agent_message
        where id = ${text(p.replaces)} and session_id = ${text(p.sessionId)} and type = 'human'`,
    ),
    /** A summary that holds replaced messages; what it was made of is read again. */
    dropSummary: statement(
      (p: { sessionId: string; number: number }) => sql`delete from agent_summary
        where session_id = ${text(p.sessionId)} and exists (
          select 1 from agent_message as known, agent_replaced as gap where known.id = agent_summary.up_to
            and gap.session_id = agent_summary.session_id and gap.last = 2 * ${bigint(p.number)}
            and known.number >= gap.first)`,
    ),
    /** Clients choose the ids of questions: a message of another run is never changed. */
    saveQuestion: statement(
      (p: ReturnType<typeof toMessageRow> & { sessionId: string; runId: string; number: number }) =>
        sql`insert into agent_message (id, session_id, run_id, position, number, type, content, status, request_id,
          extras, hidden, created_at)
        values (${p.id}, ${p.sessionId}, ${p.runId}, ${p.position}, ${p.number}, ${p.type}, ${p.content}, ${p.status},
          ${p.requestId}, ${p.extras}, ${p.hidden}, ${p.createdAt})
        on conflict (id) do nothing returning id`,
    ),
    findSend: statement(
      (p: { userDid: string; key: string }) => sql<{ run_id: string; body_hash: string }>`select run_id, body_hash
        from agent_send where user_did = ${p.userDid} and key = ${p.key}`,
    ),
    insertSend: statement(
      (p: { userDid: string; key: string; runId: string; bodyHash: string }) => sql`insert into agent_send
        (user_did, key, run_id, body_hash, created_at)
        values (${p.userDid}, ${p.key}, ${p.runId}, ${p.bodyHash}, ${now})`,
    ),
  };
}
