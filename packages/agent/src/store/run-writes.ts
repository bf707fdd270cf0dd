import { AppError, agentLimits, type EndedRunStatus } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { sql, type Transaction } from 'kysely';
import { toMessageRow, toPrefixed } from './message-row.ts';
import type { StoredMessage } from './messages.ts';
import { preparePostgresWrites } from './postgres-run-writes.ts';
import type { BeginResult, Frames, OwnedRun, RunBegin, RunEnd, SendKey, StepBegin, StepEnd } from './run-records.ts';
import { prepareRunStatements } from './run-statements.ts';
import type { AgentDatabase } from './schema.ts';
import { sealedTables } from './sealed-tables.ts';

type Write =
  | { kind: 'begin'; begin: RunBegin }
  | { kind: 'frames'; run: OwnedRun; frames: Frames }
  | { kind: 'step'; step: StepBegin }
  | { kind: 'end'; end: RunEnd };

/**
 * What a run writes, from its begin to its end. On SQLite begins, frames, steps and ends go through one group writer; on
 * PostgreSQL only the begins of steps, and begins of runs that have a key, replace a question or met another begin of their session.
 */
export function createRunWrites(store: Store<AgentDatabase>) {
  const { cipher } = store;
  const statements = prepareRunStatements(store);
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
    if ((await statements.findMessage({ id: run.question.id }, trx)).rows.length > 0) return { kind: 'taken' };
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
    return { kind: 'begun', status: inserted.status === 'running' ? 'running' : 'queued', epoch: 1, aborted };
  }

  /** Undefined if the run has another owner or is gone. */
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
    const { rows } = await statements.saveMessage({ ...row, sessionId, runId, number: 2 * number + offset }, trx);
    if (rows.length === 0) throw new AppError('CONFLICT', 'There is a message with this id.');
  }

  async function beginAtOnce(run: RunBegin): Promise<BeginResult> {
    const { runId, sessionId, userDid, requestId, answerId, instance, model, input } = run;
    const row = { runId, sessionId, userDid, requestId, answerId, instance, model, ...sealInput(runId, input) };
    const message = toPrefixed(sealMessage(toMessageRow(runId, run.question)));
    const maxLive = agentLimits.queuedTurnsPerSession;
    const [begun] = (await postgres.begin({ ...row, ...message, maxLive })).rows;
    if (!begun?.found) return { kind: 'gone' };
    if (begun.status === null) return { kind: 'busy' };
    return { kind: 'begun', status: begun.status, epoch: 1, aborted: [] };
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
    /** The status it ended with (`aborted` where an abort was confirmed); undefined if it has another owner or is gone. */
    end: (run: RunEnd): Promise<EndedRunStatus | undefined> =>
      isPostgres ? endAtOnce(run) : (writer.write({ kind: 'end', end: run }) as Promise<EndedRunStatus | undefined>),
    /** False if the run has ended or has another owner. */
    addFrames: async (run: OwnedRun, frames: Frames): Promise<boolean> =>
      isPostgres
        ? (await postgres.addFrames({ ...run, ...sealFrames(run, frames) })).rows.length > 0
        : ((await writer.write({ kind: 'frames', run, frames })) as boolean),
    /** Notes that the tools of a step begin; false if the run has ended, is aborted or has another owner. */
    beginStep: (step: StepBegin) => writer.write({ kind: 'step', step }) as Promise<boolean>,
    /** Keeps what the tools of a step returned; false if the run has another owner. */
    async endStep({ runId, epoch, number, outcomes }: StepEnd): Promise<boolean> {
      const sealed = cipher.sealRow(sealedTables.step, { run_id: runId, number, outcomes });
      return (await statements.saveOutcomes({ runId, epoch, number, outcomes: sealed.outcomes })).rows.length > 0;
    },

    /** True if every run before it in its session has ended. */
    async start({ runId, epoch }: OwnedRun): Promise<boolean> {
      return (await statements.startRun({ runId, epoch })).rows.length > 0;
    },

    async findSend(userDid: string, send: SendKey): Promise<{ runId: string; bodyHash: string } | undefined> {
      const [row] = (await statements.findSend({ userDid, key: send.key })).rows;
      return row && { runId: row.run_id, bodyHash: toBodyHash(row.body_hash, send) };
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
  };
}

/** A unique key (two runs of a session began together) or a deadlock. */
function isConflict(error: unknown): boolean {
  return ['23505', '40P01'].includes((error as { code?: string }).code ?? '');
}
