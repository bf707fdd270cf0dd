import type { EndedRunStatus, LiveRunStatus, Message, RunStatus } from '@palaver/contract';
import { agentLimits } from '@palaver/contract';
import { uuidPattern } from '@palaver/contract/internal';
import type { Store } from '@palaver/store';
import { unreadableText } from '@palaver/store/internal';
import { sql, type Transaction } from 'kysely';
import { databaseTime } from './database-time.ts';
import { toMessageRow, toPrefixed } from './message-row.ts';
import type { StoredMessage } from './messages.ts';
import { preparePostgresWrites } from './postgres-run-writes.ts';
import { prepareRunStatements } from './run-statements.ts';
import type { AgentDatabase } from './schema.ts';
import { sealedTables } from './sealed-tables.ts';

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
  /** What another instance needs to take the run up; null where it cannot. */
  input: string | null;
  /** The client's `Idempotency-Key` and what it was sent with. */
  send?: SendKey | undefined;
}

export interface SendKey {
  key: string;
  bodyHash: string;
}

export type BeginResult =
  /** `aborted`: the live runs whose messages it replaces. From now on they can only end as aborted. */
  | { kind: 'begun'; status: 'queued' | 'running'; epoch: number; aborted: string[] }
  /** The question that it replaces is not part of the conversation any more. */
  | { kind: 'replaced' }
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
  /** Written for an owner that seems dead: its own end, should it come after all, replaces this one. */
  bySweep?: boolean;
}

export interface StepBegin extends OwnedRun {
  number: number;
  said: number;
  body: string;
}

interface StepEnd extends OwnedRun {
  number: number;
  outcomes: string;
}

export interface StoredRun {
  runId: string;
  sessionId: string;
  requestId: string;
  messageId: string;
  status: RunStatus;
  usage: { inputTokens: number; outputTokens: number };
  content: string;
}

type Write =
  | { kind: 'begin'; begin: RunBegin }
  | { kind: 'frames'; run: OwnedRun; frames: Frames }
  | { kind: 'step'; step: StepBegin }
  | { kind: 'end'; end: RunEnd };

export type RunStore = ReturnType<typeof createRunStore>;

/** Runs, their queue in each session and the two messages of each. What a turn writes goes through one group writer. */
export function createRunStore(store: Store<AgentDatabase>) {
  const { db, cipher } = store;
  const statements = prepareRunStatements(store);
  const now = databaseTime(store.engine);
  const postgres = preparePostgresWrites(store);
  const writer = store.createGroupWriter<Write, unknown>({
    isolation: 'read committed',
    async apply(trx, writes) {
      const results: unknown[] = [];
      for (const write of writes) results.push(await applyWrite(trx, write));
      return results;
    },
  });

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
  const sealInput = (runId: string, input: string | null) => ({
    input: cipher.sealRow(sealedTables.run, { id: runId, input }).input,
  });
  const sealTitle = (sessionId: string, title: string | undefined) =>
    cipher.sealRow(sealedTables.session, { id: sessionId, title: title ?? null }).title;

  async function applyWrite(trx: Transaction<AgentDatabase>, write: Write): Promise<unknown> {
    switch (write.kind) {
      case 'begin':
        return begin(trx, write.begin);
      case 'frames':
        return (
          (await statements.insertFrames({ ...write.run, ...sealFrames(write.run, write.frames) }, trx)).rows.length > 0
        );
      case 'step': {
        const { runId, epoch, number, said } = write.step;
        const { body } = cipher.sealRow(sealedTables.step, { run_id: runId, number, body: write.step.body });
        return (await statements.insertStep({ runId, epoch, number, said, body }, trx)).rows.length > 0;
      }
      case 'end':
        return end(trx, write.end);
    }
  }

  async function begin(trx: Transaction<AgentDatabase>, run: RunBegin): Promise<BeginResult> {
    const { runId, sessionId, userDid, requestId, answerId, instance, model, input, send } = run;
    const [taken] = (await statements.takeNumber({ sessionId }, trx)).rows;
    if (!taken) return { kind: 'gone' };
    const [earlier] = send ? (await statements.findSend({ userDid, key: send.key }, trx)).rows : [];
    if (earlier) return { kind: 'known', runId: earlier.run_id, bodyHash: toBodyHash(earlier.body_hash, send) };
    const { replaces } = run.question;
    if (replaces && (await statements.findQuestion({ sessionId, id: replaces }, trx)).rows.length === 0)
      return { kind: 'replaced' };
    const number = taken.run_count;
    const row = { runId, sessionId, userDid, requestId, answerId, instance, model, ...sealInput(runId, input), number };
    const maxLive = agentLimits.queuedTurnsPerSession;
    const [inserted] = (await statements.insertRun({ ...row, maxLive }, trx)).rows;
    if (!inserted) return { kind: 'busy' };
    let aborted: string[] = [];
    if (replaces) {
      await statements.replaceMessages({ sessionId, replaces, number }, trx);
      await statements.dropSummary({ sessionId, number }, trx);
      aborted = (await statements.abortReplaced({ sessionId, number }, trx)).rows.map(({ id }) => id);
    }
    await saveMessage(trx, { runId, sessionId, number }, run.question);
    if (send) await statements.insertSend({ userDid, runId, key: send.key, bodyHash: hashBody(send) }, trx);
    return inserted.status === 'running'
      ? { kind: 'begun', status: 'running', epoch: 1, aborted }
      : { kind: 'begun', status: 'queued', epoch: 0, aborted };
  }

  /** Undefined where the run has another owner or is gone. */
  async function end(trx: Transaction<AgentDatabase>, run: RunEnd): Promise<EndedRunStatus | undefined> {
    const { runId, epoch, sessionId, status, usage, title } = run;
    // The session first, as at the begin and where a session is deleted: locks are taken in one order.
    await statements.touchSession({ sessionId, title: sealTitle(sessionId, title) }, trx);
    const bySweep = run.bySweep ? 1 : 0;
    const [ended] = (await statements.endRun({ runId, epoch, status, ...usage, bySweep }, trx)).rows;
    if (!ended) return undefined;
    await saveMessage(trx, { runId, sessionId, number: ended.number }, { ...run.answer, status: ended.status });
    await statements.insertLastFrames({ runId, ...sealFrames(run, run.toFrames(ended.status)) }, trx);
    return ended.status;
  }

  async function saveMessage(
    trx: Transaction<AgentDatabase>,
    { runId, sessionId, number }: { runId: string; sessionId: string; number: number },
    message: StoredMessage,
  ): Promise<void> {
    const row = sealMessage(toMessageRow(runId, message));
    const offset = message.type === 'human' ? 0 : 1;
    await statements.saveMessage({ ...row, sessionId, runId, number: 2 * number + offset }, trx);
  }

  async function beginAtOnce(run: RunBegin): Promise<BeginResult> {
    const { runId, sessionId, userDid, requestId, answerId, instance, model, input } = run;
    const row = { runId, sessionId, userDid, requestId, answerId, instance, model, ...sealInput(runId, input) };
    const message = toPrefixed(sealMessage(toMessageRow(runId, run.question)));
    const maxLive = agentLimits.queuedTurnsPerSession;
    const [begun] = (await postgres.begin({ ...row, ...message, maxLive })).rows;
    if (!begun?.found) return { kind: 'gone' };
    if (begun.status === null) return { kind: 'busy' };
    return { kind: 'begun', status: begun.status, epoch: begun.status === 'running' ? 1 : 0, aborted: [] };
  }

  async function endAtOnce(run: RunEnd): Promise<EndedRunStatus | undefined> {
    const { runId, epoch, sessionId, status, usage } = run;
    const title = sealTitle(sessionId, run.title);
    const { first, last, body } = sealFrames(run, run.toFrames(status));
    const { body: abortedBody } = sealFrames(run, run.toFrames('aborted'));
    const { status: _, ...message } = sealMessage(toMessageRow(runId, run.answer));
    const bySweep = run.bySweep ? 1 : 0;
    const own = { runId, epoch, sessionId, status, ...usage, title, bySweep, first, last, body, abortedBody };
    return (await postgres.end({ ...own, ...toPrefixed(message) })).rows[0]?.status;
  }

  const isPostgres = store.engine === 'postgres';
  return {
    begin: (run: RunBegin): Promise<BeginResult> =>
      isPostgres && !run.send && !run.question.replaces
        ? beginAtOnce(run).catch((error) => {
            // Another run of the session began at the same moment: one after the other, then.
            if (!isConflict(error)) throw error;
            return writer.write({ kind: 'begin', begin: run }) as Promise<BeginResult>;
          })
        : (writer.write({ kind: 'begin', begin: run }) as Promise<BeginResult>),
    /** The status it ended with (`aborted` where an abort was confirmed); undefined where it has another owner or is gone. */
    end: (run: RunEnd): Promise<EndedRunStatus | undefined> =>
      isPostgres ? endAtOnce(run) : (writer.write({ kind: 'end', end: run }) as Promise<EndedRunStatus | undefined>),
    /** False where the run has ended or has another owner. */
    addFrames: async (run: OwnedRun, frames: Frames): Promise<boolean> =>
      isPostgres
        ? (await postgres.addFrames({ ...run, ...sealFrames(run, frames) })).rows.length > 0
        : ((await writer.write({ kind: 'frames', run, frames })) as boolean),
    /** Notes that the tools of a step begin; false where the run has ended or has another owner. */
    beginStep: (step: StepBegin) => writer.write({ kind: 'step', step }) as Promise<boolean>,
    /** Keeps what the tools of a step returned; false where the run has another owner. */
    async endStep({ runId, epoch, number, outcomes }: StepEnd): Promise<boolean> {
      const sealed = cipher.sealRow(sealedTables.step, { run_id: runId, number, outcomes });
      return (await statements.saveOutcomes({ runId, epoch, number, outcomes: sealed.outcomes })).rows.length > 0;
    },

    /** The new epoch where every run before it in its session has ended. */
    async start(run: OwnedRun): Promise<number | undefined> {
      return (await statements.startRun({ runId: run.runId, epoch: run.epoch })).rows[0]?.epoch;
    },

    async findSend(userDid: string, send: SendKey): Promise<{ runId: string; bodyHash: string } | undefined> {
      const [row] = (await statements.findSend({ userDid, key: send.key })).rows;
      return row && { runId: row.run_id, bodyHash: toBodyHash(row.body_hash, send) };
    },

    /** The live runs of a session in order. */
    async live(sessionId: string): Promise<{ runId: string; status: LiveRunStatus }[]> {
      const rows = await db
        .selectFrom('agent_run')
        .select(['id', 'status'])
        .where('session_id', '=', sessionId)
        .where('ended_at', 'is', null)
        .orderBy('number')
        .execute();
      return rows.map(({ id, status }) => ({ runId: id, status: toLiveStatus(status) }));
    },

    /**
     * Confirms the abort of a run: from now on it can only end as aborted. Not of one that started within the last
     * `elapsedMs`, while the request was on its way: that was meant for the run before it.
     */
    async requestAbort(runId: string, elapsedMs: number): Promise<boolean> {
      const result = await db
        .updateTable('agent_run')
        .set({ aborting: 1 })
        .where('id', '=', runId)
        .where('ended_at', 'is', null)
        .where((eb) => eb(eb.fn.coalesce('started_at', 'created_at'), '<=', eb(now, '-', elapsedMs)))
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },

    /** Runs of an instance whose abort was confirmed and that have not ended. */
    async aborting(instance: string): Promise<string[]> {
      const rows = await db
        .selectFrom('agent_run')
        .select('id')
        .where('instance', '=', instance)
        .where('ended_at', 'is', null)
        .where('aborting', '=', 1)
        .execute();
      return rows.map(({ id }) => id);
    },

    /** Who may write of a run, and how it ended; undefined for one that is gone. */
    async state(runId: string): Promise<{ epoch: number; status: RunStatus } | undefined> {
      const rows = await db.selectFrom('agent_run').select(['epoch', 'status']).where('id', '=', runId).execute();
      return rows[0];
    },

    /** Undoes a begin that may or may not have been committed. */
    async discard(runId: string): Promise<void> {
      await store.transaction(async (trx) => {
        await sql`delete from agent_replaced where (session_id, last) in
          (select session_id, 2 * number from agent_run where id = ${runId})`.execute(trx);
        await trx.deleteFrom('agent_message').where('run_id', '=', runId).execute();
        await trx.deleteFrom('agent_run').where('id', '=', runId).execute();
      });
    },

    async find(userDid: string, runId: string): Promise<StoredRun | undefined> {
      if (!uuidPattern.test(runId)) return undefined;
      const row = await db
        .selectFrom('agent_run as run')
        .leftJoin('agent_message as message', 'message.id', 'run.message_id')
        .select(['run.id', 'run.session_id', 'run.request_id', 'run.message_id', 'run.status', 'message.content'])
        .select(['run.input_tokens', 'run.output_tokens'])
        .where('run.id', '=', runId)
        .where('run.user_did', '=', userDid)
        .executeTakeFirst();
      return (
        row && {
          runId: row.id,
          sessionId: row.session_id,
          requestId: row.request_id,
          messageId: row.message_id,
          status: row.status,
          usage: { inputTokens: row.input_tokens ?? 0, outputTokens: row.output_tokens ?? 0 },
          content: cipher.openRow(
            sealedTables.message,
            { id: row.message_id, content: row.content ?? '' },
            { content: unreadableText },
          ).content,
        }
      );
    },

    /** The stored frames of a run after number `after`, in order; undefined where a cell cannot be decrypted. */
    async frames(runId: string, after: number): Promise<Frames[] | undefined> {
      const rows = await db
        .selectFrom('agent_frame')
        .select(['run_id', 'first', 'last', 'body'])
        .where('run_id', '=', runId)
        .where('last', '>', after)
        .orderBy('first')
        .execute();
      const frames = rows.map((row) => cipher.openRow(sealedTables.frame, row, { body: '' }));
      return frames.some(({ body }) => body === '') ? undefined : frames;
    },
  };
}

/** Of a run that has not ended. */
export function toLiveStatus(status: RunStatus): LiveRunStatus {
  return status === 'queued' || status === 'waiting' ? status : 'running';
}

/** A unique key (two runs of a session began together) or a deadlock. */
function isConflict(error: unknown): boolean {
  return ['23505', '40P01'].includes((error as { code?: string }).code ?? '');
}
