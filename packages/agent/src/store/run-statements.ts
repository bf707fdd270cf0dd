import type { EndedRunStatus, RunStatus } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { type Compilable, type Kysely, type RawBuilder, sql } from 'kysely';
import { isActive } from './messages.ts';
import type { AgentDatabase } from './schema.ts';

// Type aliases, not interfaces: only those fit the store's record of parameters.
export type RunRow = {
  runId: string;
  sessionId: string;
  userDid: string;
  requestId: string;
  answerId: string;
  instance: string;
  model: string;
  input: string | null;
  number: number;
  maxLive: number;
};

export type MessageRow = {
  id: string;
  sessionId: string;
  runId: string;
  position: string;
  number: number;
  type: 'human' | 'ai';
  content: string;
  status: EndedRunStatus;
  requestId: string;
  extras: string | null;
  hidden: string | null;
  createdAt: number;
};

export type FrameRow = { runId: string; epoch: number; first: number; last: number; body: string };
type StepRow = { runId: string; epoch: number; number: number; said: number; body: string };
type EndRow = {
  runId: string;
  epoch: number;
  status: EndedRunStatus;
  inputTokens: number;
  outputTokens: number;
  /** 1 for the end that the sweep writes for an owner that seems dead. */
  bySweep: number;
};

/** Everything a run writes, compiled once. A write that names an epoch has no effect for an owner that was replaced. */
export function prepareRunStatements({ prepare, engine }: Store<AgentDatabase>) {
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
    insertRun: prepare((db, run: RunRow) =>
      raw<{ status: RunStatus }>(
        db,
        sql`insert into agent_run
          (id, session_id, user_did, request_id, message_id, instance, model, input, number, created_at, status, active,
           started_at, epoch)
        select cast(${run.runId} as text), cast(${run.sessionId} as text), cast(${run.userDid} as text),
          cast(${run.requestId} as text), cast(${run.answerId} as text), cast(${run.instance} as text),
          cast(${run.model} as text), cast(${run.input} as text), cast(${run.number} as bigint), ${now},
          case live.runs when 0 then 'running' else 'queued' end,
          case live.runs when 0 then 1 end,
          case live.runs when 0 then ${now} end, 1
        from (
          select count(*) as runs from agent_run where session_id = cast(${run.sessionId} as text) and ended_at is null
        ) as live
        where live.runs <= cast(${run.maxLive} as bigint)
        returning status`,
      ),
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
    /** The live runs whose messages the run with this number has replaced end as aborted. */
    abortReplaced: prepare((db, run: { sessionId: string; number: number }) =>
      raw<{ id: string }>(
        db,
        sql`update agent_run set aborting = 1 where session_id = cast(${run.sessionId} as text) and ended_at is null
          and number < cast(${run.number} as bigint) and exists (
          select 1 from agent_replaced as gap where gap.session_id = agent_run.session_id
            and gap.last = 2 * cast(${run.number} as bigint) and 2 * agent_run.number >= gap.first)
        returning id`,
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
    /** An answer that the sweep had stored is replaced by its owner's. */
    saveMessage: prepare((db, message: MessageRow) => {
      const values = {
        content: message.content,
        status: message.status,
        extras: message.extras,
        hidden: message.hidden,
      };
      return (
        db
          .insertInto('agent_message')
          .values({
            ...values,
            id: message.id,
            session_id: message.sessionId,
            run_id: message.runId,
            position: message.position,
            number: message.number,
            type: message.type,
            request_id: message.requestId,
            created_at: message.createdAt,
          })
          // Clients choose the ids of questions: a message of another run is never changed.
          .onConflict((conflict) =>
            conflict.column('id').doUpdateSet(values).where('agent_message.run_id', '=', message.runId),
          )
          .returning('id')
      );
    }),
    /** A queued run starts when no run before it in its session is live. Repeatable: the reply to a first try may be lost. */
    startRun: prepare((db, run: { runId: string; epoch: number }) =>
      db
        .updateTable('agent_run')
        .set((eb) => ({ status: 'running', active: 1, started_at: eb.fn.coalesce('started_at', now) }))
        .where('id', '=', run.runId)
        .where('epoch', '=', run.epoch)
        .where('ended_at', 'is', null)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('agent_run as earlier')
                .select('earlier.id')
                .whereRef('earlier.session_id', '=', 'agent_run.session_id')
                .whereRef('earlier.number', '<', 'agent_run.number')
                .where('earlier.ended_at', 'is', null),
            ),
          ),
        )
        .returning('id'),
    ),
    insertFrames: prepare((db, frames: FrameRow) =>
      raw<{ first: number }>(
        db,
        sql`insert into agent_frame (run_id, first, last, body, created_at)
        select id, cast(${frames.first} as bigint), cast(${frames.last} as bigint), cast(${frames.body} as text), ${now}
        from agent_run where id = cast(${frames.runId} as text) and epoch = cast(${frames.epoch} as integer)
          and ended_at is null
        on conflict (run_id, first) do update set last = excluded.last, body = excluded.body
        returning first`,
      ),
    ),
    /** With the end of a run, which has checked the epoch. */
    insertLastFrames: prepare((db, frames: Omit<FrameRow, 'epoch'>) =>
      db
        .insertInto('agent_frame')
        .values({
          run_id: frames.runId,
          first: frames.first,
          last: frames.last,
          body: frames.body,
          created_at: now,
        })
        // Those of the sweep begin with the same number: an owner that seemed dead stores nothing in between.
        .onConflict((conflict) =>
          conflict.columns(['run_id', 'first']).doUpdateSet({ last: frames.last, body: frames.body }),
        ),
    ),
    insertStep: prepare((db, step: StepRow) =>
      raw<{ number: number }>(
        db,
        sql`insert into agent_step (run_id, number, said, body, created_at)
        select id, cast(${step.number} as integer), cast(${step.said} as integer), cast(${step.body} as text), ${now}
        from agent_run where id = cast(${step.runId} as text) and epoch = cast(${step.epoch} as integer)
          and ended_at is null and aborting = 0
        on conflict (run_id, number) do update set created_at = excluded.created_at
        returning number`,
      ),
    ),
    saveOutcomes: prepare((db, step: { runId: string; epoch: number; number: number; outcomes: string }) =>
      db
        .updateTable('agent_step')
        .set({ outcomes: step.outcomes })
        .where('run_id', '=', step.runId)
        .where('number', '=', step.number)
        .where(({ exists, selectFrom }) =>
          exists(selectFrom('agent_run').select('id').where('id', '=', step.runId).where('epoch', '=', step.epoch)),
        )
        .returning('number'),
    ),
    /** The end of an owner that seemed dead still counts, unless the run was taken over. */
    endRun: prepare((db, run: EndRow) =>
      raw<{ status: EndedRunStatus; number: number; swept: number }>(
        db,
        sql`update agent_run set
          status = case aborting when 1 then 'aborted' else cast(${run.status} as text) end,
          input_tokens = cast(${run.inputTokens} as integer), output_tokens = cast(${run.outputTokens} as integer),
          input = null, active = null, ended_at = ${now},
          swept = case cast(${run.bySweep} as integer) when 1 then 1 else 2 * swept end
        where id = cast(${run.runId} as text) and epoch = cast(${run.epoch} as integer)
          and (ended_at is null or (swept = 1 and cast(${run.bySweep} as integer) = 0))
        returning status, number, swept`,
      ),
    ),
    /** The first exchange names a session; of several sent at once, the first to end. */
    touchSession: prepare((db, session: { sessionId: string; title: string | null }) =>
      raw(
        db,
        sql`update agent_session set updated_at = ${now},
          title = case when named = 0 then coalesce(cast(${session.title} as text), title) else title end,
          named = case when cast(${session.title} as text) is null then named else 1 end
        where id = cast(${session.sessionId} as text)`,
      ),
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
