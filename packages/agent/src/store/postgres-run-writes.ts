import type { EndedRunStatus } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { type Compilable, type Kysely, type RawBuilder, sql } from 'kysely';
import type { FrameRow, MessageRow, RunRow } from './run-statements.ts';
import type { AgentDatabase } from './schema.ts';

type BeginRow = Omit<RunRow, 'number'> & Prefixed<Omit<MessageRow, 'sessionId' | 'runId' | 'number'>>;
type EndRow = {
  runId: string;
  sessionId: string;
  epoch: number;
  status: EndedRunStatus;
  inputTokens: number;
  outputTokens: number;
  bySweep: number;
  title: string | null;
  first: number;
  last: number;
  /** The last frames for either way the run may end. */
  body: string;
  abortedBody: string;
} & Prefixed<Omit<MessageRow, 'sessionId' | 'runId' | 'number' | 'status'>>;

type Prefixed<Row> = { [Key in keyof Row & string as `message_${Key}`]: Row[Key] };

/**
 * The writes of a turn as one statement each: PostgreSQL takes them in one round trip and needs no transaction. Two runs of
 * a session that begin together may both count no live run; then the unique index on active runs refuses the second, and
 * the caller tries again.
 */
export function preparePostgresWrites({ prepare, engine }: Store<AgentDatabase>) {
  const now = databaseTime(engine);
  const raw = <R>(db: Kysely<AgentDatabase>, query: RawBuilder<R>): Compilable<R> => ({
    compile: () => query.compile(db),
  });
  const text = (value: unknown) => sql`cast(${value} as text)`;
  const integer = (value: unknown) => sql`cast(${value} as integer)`;
  const bigint = (value: unknown) => sql`cast(${value} as bigint)`;

  return {
    begin: prepare((db, run: BeginRow) =>
      raw<{ status: 'queued' | 'running' | null; found: boolean }>(
        db,
        sql`with session as (
          update agent_session set run_count = run_count + 1, updated_at = ${now}
          where id = ${text(run.sessionId)} returning run_count
        ), live as (
          select count(*) as runs from agent_run where session_id = ${text(run.sessionId)} and ended_at is null
        ), begun as (
          insert into agent_run (id, session_id, user_did, request_id, message_id, instance, model, input, number,
            created_at, status, active, started_at, epoch)
          select ${text(run.runId)}, ${text(run.sessionId)}, ${text(run.userDid)}, ${text(run.requestId)},
            ${text(run.answerId)}, ${text(run.instance)}, ${text(run.model)}, ${text(run.input)}, session.run_count, ${now},
            case live.runs when 0 then 'running' else 'queued' end, case live.runs when 0 then 1 end,
            case live.runs when 0 then ${now} end, 1
          from session, live where live.runs <= ${bigint(run.maxLive)}
          returning status, number
        ), question as (
          insert into agent_message (id, session_id, run_id, position, number, type, content, status, request_id, extras,
            hidden, created_at)
          select ${text(run.message_id)}, ${text(run.sessionId)}, ${text(run.runId)}, ${text(run.message_position)},
            2 * begun.number, ${text(run.message_type)}, ${text(run.message_content)}, ${text(run.message_status)},
            ${text(run.message_requestId)}, ${text(run.message_extras)}, ${text(run.message_hidden)},
            ${bigint(run.message_createdAt)}
          from begun
        )
        select (select status from begun) as status, exists (select 1 from session) as found`,
      ),
    ),
    addFrames: prepare((db, frames: FrameRow) =>
      raw<{ first: number }>(
        db,
        sql`insert into agent_frame (run_id, first, last, body, created_at)
        select id, ${bigint(frames.first)}, ${bigint(frames.last)}, ${text(frames.body)}, ${now}
        from agent_run where id = ${text(frames.runId)} and epoch = ${integer(frames.epoch)} and ended_at is null
        on conflict (run_id, first) do update set last = excluded.last, body = excluded.body
        returning first`,
      ),
    ),
    end: prepare((db, run: EndRow) =>
      raw<{ status: EndedRunStatus }>(
        db,
        sql`with session as (
          update agent_session set updated_at = ${now},
            title = case when named = 0 then coalesce(${text(run.title)}, title) else title end,
            named = case when ${text(run.title)} is null then named else 1 end
          where id = ${text(run.sessionId)}
        ), ended as (
          update agent_run set
            status = case aborting when 1 then 'aborted' else ${text(run.status)} end,
            input_tokens = ${integer(run.inputTokens)}, output_tokens = ${integer(run.outputTokens)},
            input = null, active = null, ended_at = ${now},
            swept = case ${integer(run.bySweep)} when 1 then 1 else 2 * swept end
          where id = ${text(run.runId)} and epoch = ${integer(run.epoch)}
            and (ended_at is null or (swept = 1 and ${integer(run.bySweep)} = 0))
          returning id, session_id, status, number
        ), answer as (
          insert into agent_message (id, session_id, run_id, position, number, type, content, status, request_id, extras,
            created_at)
          select ${text(run.message_id)}, session_id, id, ${text(run.message_position)}, 2 * number + 1,
            ${text(run.message_type)}, ${text(run.message_content)}, status, ${text(run.message_requestId)},
            ${text(run.message_extras)}, ${bigint(run.message_createdAt)}
          from ended
          on conflict (id) do update
            set content = excluded.content, status = excluded.status, extras = excluded.extras
        ), frames as (
          insert into agent_frame (run_id, first, last, body, created_at)
          select id, ${bigint(run.first)}, ${bigint(run.last)},
            case status when 'aborted' then ${text(run.abortedBody)} else ${text(run.body)} end,
            ${now}
          from ended
          on conflict (run_id, first) do update set last = excluded.last, body = excluded.body
        )
        select status from ended`,
      ),
    ),
  };
}
