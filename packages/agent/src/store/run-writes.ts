import { AppError, agentLimits, type EndedRunStatus, type Message, type RunStatus } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { type Compilable, type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { TransitionName } from '../runs/transitions.ts';
import { type StoredMessage, toMessageRow, toPrefixed } from './message.ts';
import { isActive } from './messages.ts';
import { createRunTransitions } from './run-transitions.ts';
import { type AgentDatabase, sealedTables } from './schema.ts';

export interface RunBegin {
  runId: string;
  sessionId: string;
  userDid: string;
  requestId: string;
  instance: string;
  model: string;
  question: StoredMessage;
  /** The id the answer will have. */
  answerId: string;
  /** What another instance needs to take over the run; null if it cannot. */
  input: string | null;
  /** The client's `Idempotency-Key` and what it was sent with. */
  send?: SendKey | undefined;
  /** The outcome of an earlier try is unknown: it may have been committed, or may be yet. */
  isRepeated?: boolean;
}

export interface SendKey {
  key: string;
  bodyHash: string;
}

export type BeginResult =
  /** `aborted`: the live runs whose messages it replaces. From now on they can only end as aborted. */
  | { kind: 'begun'; status: 'queued' | 'running'; epoch: number; aborted: string[] }
  /** An earlier try was committed, and the run has another owner by now or has ended. */
  | { kind: 'moved' }
  /** The question that it replaces is not part of the conversation any more. */
  | { kind: 'replaced' }
  /** There is a message with the id of the question. */
  | { kind: 'taken' }
  /** As many wait as may wait. */
  | { kind: 'busy' }
  /** The session is not there any more. */
  | { kind: 'gone' }
  /** Its `Idempotency-Key` was used before. */
  | { kind: 'known'; runId: string; bodyHash: string };

/** A run of one owner: writes of an earlier owner have no effect. */
export interface OwnedRun {
  runId: string;
  epoch: number;
}

/** Frames `first` to `last` of a run as they go over the wire. */
export interface Frames {
  first: number;
  last: number;
  body: string;
}

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

export interface StepBegin extends OwnedRun {
  number: number;
  said: number;
  body: string;
}

export interface StepEnd extends OwnedRun {
  number: number;
  outcomes: string;
}

// Type aliases, not interfaces: only those fit the store's record of parameters.
type Owned = { runId: string; epoch: number };
type FrameRow = Owned & { first: number; last: number; body: string };
type EndRow = Owned & {
  inputTokens: number;
  outputTokens: number;
  title: string | null;
  first: number;
  last: number;
  /** The last frames for either way the run may end. */
  body: string;
  abortedBody: string;
  message_id: string;
  message_position: string;
  message_content: string;
  message_requestId: string;
  message_extras: string | null;
  message_createdAt: number;
};

/** A write of frames whose reply was lost is repeated with those that came since, and may itself come last. */
const unlessLonger = sql`on conflict (run_id, first) do update set last = excluded.last, body = excluded.body
  where excluded.last >= agent_frame.last`;

const endOf = { complete: 'complete', failed: 'fail', aborted: 'stop' } as const satisfies Record<
  EndedRunStatus,
  TransitionName
>;

/** What a run writes, from its begin to its end. A write that names an epoch has no effect for an owner that was replaced. */
export function createRunWrites(store: Store<AgentDatabase>) {
  const { cipher } = store;
  const now = databaseTime(store.engine);
  const statements = prepareStatements(store);
  const { define, inGroup, ...begins } = createRunTransitions(store);
  const start = define('start');
  const abort = define('abort');
  const abortReplaced = define('replace');
  const addFrames = define<'frames', FrameRow>('frames', [
    (frames, run) => sql`insert into agent_frame (run_id, first, last, body, created_at)
      select run.id, cast(${frames.first} as bigint), cast(${frames.last} as bigint), cast(${frames.body} as text), ${now}
      from ${run} as run where true ${unlessLonger}`,
  ]);
  const beginStep = define<'step', Owned & { number: number; said: number; body: string }>('step', [
    (step, run) => sql`insert into agent_step (run_id, number, said, body, created_at)
      select run.id, cast(${step.number} as integer), cast(${step.said} as integer), cast(${step.body} as text), ${now}
      from ${run} as run where true
      on conflict (run_id, number) do update set created_at = excluded.created_at`,
  ]);
  const endStep = define<'outcomes', Owned & { number: number; outcomes: string }>('outcomes', [
    (step, run) => sql`update agent_step set outcomes = cast(${step.outcomes} as text) from ${run} as run
      where agent_step.run_id = run.id and agent_step.number = cast(${step.number} as integer)`,
  ]);
  const defineEnd = (name: (typeof endOf)[EndedRunStatus]) =>
    define<typeof name, EndRow>(name, [
      // The first exchange names a session; of several sent at once, the first to end.
      (end, run) => sql`update agent_session set updated_at = ${now},
        title = case when named = 0 then coalesce(cast(${end.title} as text), title) else title end,
        named = case when cast(${end.title} as text) is null then named else 1 end
        from ${run} as run where agent_session.id = run.session_id`,
      (end, run) => sql`insert into agent_message
        (id, session_id, run_id, position, number, type, content, status, request_id, extras, created_at)
        select cast(${end.message_id} as text), run.session_id, run.id, cast(${end.message_position} as text),
          2 * run.number + 1, 'ai', cast(${end.message_content} as text), run.status,
          cast(${end.message_requestId} as text), cast(${end.message_extras} as text),
          cast(${end.message_createdAt} as bigint)
        from ${run} as run where true on conflict (id) do nothing`,
      (end, run) => sql`insert into agent_frame (run_id, first, last, body, created_at)
        select run.id, cast(${end.first} as bigint), cast(${end.last} as bigint),
          case run.status when 'aborted' then cast(${end.abortedBody} as text) else cast(${end.body} as text) end, ${now}
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
    ...{ runId, sessionId, userDid, requestId, answerId, instance, model },
    input: cipher.sealRow(sealedTables.run, { id: runId, input }).input,
    maxLive: agentLimits.queuedTurnsPerSession,
  });

  async function begin(trx: Transaction<AgentDatabase>, run: RunBegin): Promise<BeginResult> {
    const { runId, sessionId, userDid, send } = run;
    const [taken] = (await statements.takeNumber({ sessionId }, trx)).rows;
    if (!taken) return { kind: 'gone' };
    const [own] = run.isRepeated ? (await statements.findRun({ runId }, trx)).rows : [];
    if (own) return toRepeated(own);
    const [earlier] = send ? (await statements.findSend({ userDid, key: send.key }, trx)).rows : [];
    if (earlier) return { kind: 'known', runId: earlier.run_id, bodyHash: toBodyHash(earlier.body_hash, send) };
    const { replaces } = run.question;
    if (replaces && (await statements.findQuestion({ sessionId, id: replaces }, trx)).rows.length === 0)
      return { kind: 'replaced' };
    if ((await statements.findMessage({ id: run.question.id }, trx)).rows.length > 0) return { kind: 'taken' };
    const number = taken.run_count;
    const [begun] = (await begins.begin({ ...toNewRun(run), number }, trx)).rows;
    if (!begun) return { kind: 'busy' };
    let aborted: string[] = [];
    if (replaces) {
      await statements.replaceMessages({ sessionId, replaces, number }, trx);
      await statements.dropSummary({ sessionId, number }, trx);
      aborted = (await abortReplaced({ sessionId, number }, trx)).map(({ id }) => id);
    }
    const question = sealMessage(toMessageRow(runId, run.question));
    const saved = await statements.saveQuestion({ ...question, sessionId, runId, number: 2 * number }, trx);
    if (saved.rows.length === 0) throw new AppError('CONFLICT', 'There is a message with this id.');
    if (send) await statements.insertSend({ userDid, runId, key: send.key, bodyHash: hashBody(send) }, trx);
    return { kind: 'begun', status: begun.status, epoch: 1, aborted };
  }

  async function beginAtOnce(run: RunBegin): Promise<BeginResult> {
    const message = toPrefixed(sealMessage(toMessageRow(run.runId, run.question)));
    const [begun] = (await begins.beginAtOnce?.({ ...toNewRun(run), ...message }))?.rows ?? [];
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
    /** False if the run has ended or has another owner. */
    addFrames: async ({ runId, epoch }: OwnedRun, frames: Frames): Promise<boolean> =>
      (await addFrames({ runId, epoch, ...sealFrames({ runId }, frames) })).length > 0,
    /** Notes that the tools of a step begin; false if the run has ended, is aborted or has another owner. */
    async beginStep({ runId, epoch, number, said, body }: StepBegin): Promise<boolean> {
      const sealed = cipher.sealRow(sealedTables.step, { run_id: runId, number, body });
      return (await beginStep({ runId, epoch, number, said, body: sealed.body })).length > 0;
    },
    /** Keeps what the tools of a step returned; false if the run has ended or has another owner. */
    async endStep({ runId, epoch, number, outcomes }: StepEnd): Promise<boolean> {
      const sealed = cipher.sealRow(sealedTables.step, { run_id: runId, number, outcomes });
      return (await endStep({ runId, epoch, number, outcomes: sealed.outcomes })).length > 0;
    },

    /** True if every run before it in its session has ended, and its abort is not confirmed. Repeatable. */
    start: async ({ runId, epoch }: OwnedRun): Promise<boolean> => (await start({ runId, epoch })).length > 0,

    /**
     * Confirms the abort of a run: from now on it can only end as aborted. Not of one that was added, or whose turn came by
     * the end of another, within the last `elapsedMs`, while the request was on its way: that was meant for the run before it.
     */
    requestAbort: async (runId: string, elapsedMs: number): Promise<boolean> =>
      (await abort({ runId, elapsedMs: Math.ceil(elapsedMs) })).length > 0,

    async findSend(userDid: string, send: SendKey): Promise<{ runId: string; bodyHash: string } | undefined> {
      const [row] = (await statements.findSend({ userDid, key: send.key })).rows;
      return row && { runId: row.run_id, bodyHash: toBodyHash(row.body_hash, send) };
    },
  };
}

/** Of a begin that was committed, although its reply was lost. */
function toRepeated({ status, epoch }: { status: RunStatus; epoch: number }): BeginResult {
  const isOwn = epoch === 1 && (status === 'queued' || status === 'running');
  return isOwn ? { kind: 'begun', status, epoch, aborted: [] } : { kind: 'moved' };
}

/** A unique key or a deadlock. */
function isConflict(error: unknown): boolean {
  return ['23505', '40P01'].includes((error as { code?: string }).code ?? '');
}

/** What the begin of a run reads and writes beside its row, compiled once. */
function prepareStatements({ prepare, engine }: Store<AgentDatabase>) {
  const now = databaseTime(engine);
  const raw = <R>(db: Kysely<AgentDatabase>, query: RawBuilder<R>): Compilable<R> => ({
    compile: () => query.compile(db),
  });

  return {
    /** Locks the session, so that the runs of a session begin one after the other. */
    takeNumber: prepare((db, session: { sessionId: string }) =>
      db
        .updateTable('agent_session')
        .set((eb) => ({ run_count: eb('run_count', '+', 1), updated_at: now }))
        .where('id', '=', session.sessionId)
        .returning('run_count'),
    ),
    findRun: prepare((db, run: { runId: string }) =>
      db.selectFrom('agent_run').select(['status', 'epoch']).where('id', '=', run.runId),
    ),
    findMessage: prepare((db, message: { id: string }) =>
      db.selectFrom('agent_message').select('id').where('id', '=', message.id),
    ),
    /** A question of the current conversation. */
    findQuestion: prepare((db, question: { sessionId: string; id: string }) =>
      db
        .selectFrom('agent_message')
        .select('id')
        .where('id', '=', question.id)
        .where('session_id', '=', question.sessionId)
        .where('type', '=', 'human')
        .where(isActive),
    ),
    /** The run with this number replaces the question and everything after it. */
    replaceMessages: prepare((db, run: { sessionId: string; replaces: string; number: number }) =>
      raw(
        db,
        sql`insert into agent_replaced (session_id, first, last)
        select session_id, number, 2 * cast(${run.number} as bigint) from agent_message
        where id = cast(${run.replaces} as text) and session_id = cast(${run.sessionId} as text) and type = 'human'`,
      ),
    ),
    /** A summary that holds replaced messages; what it was made of is read again. */
    dropSummary: prepare((db, run: { sessionId: string; number: number }) =>
      raw(
        db,
        sql`delete from agent_summary where session_id = cast(${run.sessionId} as text) and exists (
          select 1 from agent_message as known, agent_replaced as gap where known.id = agent_summary.up_to
            and gap.session_id = agent_summary.session_id and gap.last = 2 * cast(${run.number} as bigint)
            and known.number >= gap.first)`,
      ),
    ),
    /** Clients choose the ids of questions: a message of another run is never changed. */
    saveQuestion: prepare(
      (db, message: ReturnType<typeof toMessageRow> & { sessionId: string; runId: string; number: number }) =>
        db
          .insertInto('agent_message')
          .values({
            id: message.id,
            session_id: message.sessionId,
            run_id: message.runId,
            position: message.position,
            number: message.number,
            type: message.type,
            content: message.content,
            status: message.status,
            request_id: message.requestId,
            extras: message.extras,
            hidden: message.hidden,
            created_at: message.createdAt,
          })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .returning('id'),
    ),
    findSend: prepare((db, send: { userDid: string; key: string }) =>
      db
        .selectFrom('agent_send')
        .select(['run_id', 'body_hash'])
        .where('user_did', '=', send.userDid)
        .where('key', '=', send.key),
    ),
    insertSend: prepare((db, send: { userDid: string; key: string; runId: string; bodyHash: string }) =>
      db.insertInto('agent_send').values({
        user_did: send.userDid,
        key: send.key,
        run_id: send.runId,
        body_hash: send.bodyHash,
        created_at: now,
      }),
    ),
  };
}
