import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import {
  type Change,
  type Condition,
  hasEnded,
  type Transition,
  type TransitionName,
  transitions,
} from '../runs/transitions.ts';
import { deadAfterMs } from './instances.ts';
import type { Prefixed, toMessageRow } from './message.ts';
import type { AgentDatabase } from './schema.ts';

type Moved = Pick<
  Selectable<AgentDatabase['agent_run']>,
  'id' | 'session_id' | 'number' | 'status' | 'epoch' | 'deaths' | 'aborting'
>;

// Type aliases, not interfaces: only those fit the store's record of parameters.
export type NewRun = {
  runId: string;
  sessionId: string;
  userDid: string;
  requestId: string;
  answerId: string;
  instance: string;
  model: string;
  input: string | null;
  maxLive: number;
};
/** A run of one owner: writes of an earlier owner have no effect. */
export type OwnedRun = { runId: string; epoch: number };
export type Params = Record<Exclude<TransitionName, 'begin' | 'abort' | 'replace' | Ending | 'claim'>, OwnedRun> &
  Record<Ending, OwnedRun & { inputTokens: number; outputTokens: number }> & {
    abort: { runId: string; elapsedMs: number };
    replace: { sessionId: string; number: number };
    claim: OwnedRun & { instance: string; isAlone: number };
  };
type Ending = 'complete' | 'fail' | 'stop';

/** A write of another table that belongs to a transition; `run` is the row after it. */
type Effect<P> = (params: P, run: RawBuilder<unknown>) => RawBuilder<unknown>;
type BindParams = Record<string, string | number | null>;
type Move<P> = (params: P, trx?: Kysely<AgentDatabase>) => Promise<Moved[]>;

export const text = (value: unknown) => sql`cast(${value} as text)`;
export const integer = (value: unknown) => sql`cast(${value} as integer)`;
export const bigint = (value: unknown) => sql`cast(${value} as bigint)`;
const columns = sql.raw('id, session_id, number, status, epoch, deaths, aborting');

export const createStatements =
  ({ prepare }: Pick<Store<AgentDatabase>, 'prepare'>) =>
  <P extends BindParams, R>(query: (params: P) => RawBuilder<R>) => {
    const statement = prepare((db, params: P) => ({ compile: () => query(params).compile(db) }));
    return async (params: P, trx?: Kysely<AgentDatabase>): Promise<R[]> => (await statement(params, trx)).rows;
  };

/**
 * Each transition is one conditional statement. It takes the row's lock first, so what it guards in other tables
 * follows: as parts of the one statement on PostgreSQL, in one transaction on SQLite.
 *
 * PostgreSQL asks again about the row that it waited for, but sees other rows as they were when the statement began. That
 * is enough: numbers grow and ends are final, so `first-of-session` can only be seen late; approvals are added by the owner
 * alone; and a heartbeat that is missed takes a run from a slow owner, whose writes have no effect from then on.
 */
export function createRunTransitions(store: Store<AgentDatabase>) {
  const { engine } = store;
  const isPostgres = engine === 'postgres';
  const now = databaseTime(engine);
  const statement = createStatements(store);
  const writer = store.createGroupWriter<(trx: Transaction<AgentDatabase>) => Promise<unknown>, unknown>({
    isolation: 'read committed',
    async apply(trx, writes) {
      const results: unknown[] = [];
      for (const write of writes) results.push(await write(trx));
      return results;
    },
  });
  const inGroup = <T>(write: (trx: Transaction<AgentDatabase>) => Promise<T>) => writer.write(write) as Promise<T>;

  const conditions: Record<Condition, (p: BindParams) => RawBuilder<unknown>> = {
    'not-aborting': () => sql`aborting = 0`,
    'first-of-session': () => sql`not exists (select 1 from agent_run as earlier
      where earlier.session_id = agent_run.session_id and earlier.number < agent_run.number and earlier.ended_at is null)`,
    'nothing-pending': () =>
      sql`not exists (select 1 from agent_approval where run_id = agent_run.id and agent_approval.status = 'pending')`,
    'older-than-request': (p) => sql`created_at <= ${now} - ${bigint(p.elapsedMs)} and not exists (
      select 1 from agent_run as before where before.session_id = agent_run.session_id
        and before.ended_at > ${now} - ${bigint(p.elapsedMs)})`,
    replaced: (p) => sql`number < ${bigint(p.number)} and exists (select 1 from agent_replaced as gap
      where gap.session_id = agent_run.session_id and gap.last = 2 * ${bigint(p.number)}
        and 2 * agent_run.number >= gap.first)`,
    'owner-dead': (
      p,
    ) => sql`instance <> ${text(p.instance)} and (${integer(p.isAlone)} = 1 or instance = '' or not exists (
      select 1 from agent_instance where agent_instance.id = agent_run.instance
        and seen_at > ${now} - ${sql.lit(deadAfterMs)}))`,
  };
  const changes: Record<Change, (p: BindParams) => RawBuilder<unknown>> = {
    aborting: () => sql`aborting = 1`,
    take: (p) => sql`instance = ${text(p.instance)}, epoch = epoch + 1`,
    death: () => sql`deaths = deaths + case when status = 'running' and instance <> '' then 1 else 0 end`,
    'give-up': () => sql`instance = ''`,
  };

  function toChanges(name: TransitionName, p: BindParams): RawBuilder<unknown>[] {
    const { to, set = [] }: Transition = transitions[name];
    const made = set.map((change) => changes[change](p));
    if (to !== 'same' && to !== 'first' && hasEnded(to))
      made.push(sql`status = case aborting when 1 then 'aborted' else ${sql.lit(to)} end,
        input_tokens = ${integer(p.inputTokens)}, output_tokens = ${integer(p.outputTokens)},
        input = null, active = null, ended_at = ${now}`);
    if (name === 'start') made.push(sql`status = 'running', active = 1, started_at = coalesce(started_at, ${now})`);
    else if (to === 'running' || to === 'waiting') made.push(sql`status = ${sql.lit(to)}, changed_at = ${now}`);
    return made;
  }

  /** Where the row stays as it was it is locked; in SQLite the transaction is the lock. */
  function toStatement(name: TransitionName, p: BindParams): RawBuilder<Moved> {
    const { from, by, if: asked = [] }: Transition = transitions[name];
    const guards = [
      name === 'replace' ? sql`session_id = ${text(p.sessionId)}` : sql`id = ${text(p.runId)}`,
      // Also for the index on live runs.
      sql`ended_at is null and status in (${sql.join(from.map((status) => sql.lit(status)))})`,
      ...(by === 'user' ? [] : [sql`epoch = ${integer(p.epoch)}`]),
      ...asked.map((condition) => conditions[condition](p)),
    ];
    const where = sql.join(guards, sql` and `);
    const made = toChanges(name, p);
    return made.length > 0
      ? sql`update agent_run set ${sql.join(made)} where ${where} returning ${columns}`
      : sql`select ${columns} from agent_run where ${where} ${isPostgres ? sql`for no key update` : sql``}`;
  }

  function define<Name extends Exclude<TransitionName, 'begin'>, More extends BindParams = Params[Name]>(
    name: Name,
    effects: Effect<Params[Name] & More>[] = [],
  ): Move<Params[Name] & More> {
    type P = Params[Name] & More;
    if (isPostgres || effects.length === 0) {
      const parts = (p: P) =>
        effects.map((effect, index) => sql`, ${sql.ref(`effect${index}`)} as (${effect(p, sql`moved`)})`);
      return statement((p: P) =>
        effects.length === 0
          ? toStatement(name, p)
          : sql`with moved as (${toStatement(name, p)})${sql.join(parts(p), sql``)} select * from moved`,
      );
    }
    const move = statement((p: P) => toStatement(name, p));
    const rest = effects.map((effect) =>
      statement((p: P) => effect(p, sql`(select ${columns} from agent_run where id = ${text(p.runId)})`)),
    );
    return (params) =>
      inGroup(async (trx) => {
        const rows = await move(params, trx);
        if (rows.length > 0) for (const effect of rest) await effect(params, trx);
        return rows;
      });
  }

  /** The begin: `session` has the run's number, `live` how many of the session are. */
  const insertRun = (p: NewRun, session: RawBuilder<unknown>, live: RawBuilder<unknown>) =>
    sql<{ status: 'queued' | 'running'; number: number }>`insert into agent_run
      (id, session_id, user_did, request_id, message_id, instance, model, input, number, created_at, status, active,
       started_at, epoch)
    select ${text(p.runId)}, ${text(p.sessionId)}, ${text(p.userDid)}, ${text(p.requestId)}, ${text(p.answerId)},
      ${text(p.instance)}, ${text(p.model)}, ${text(p.input)}, session.run_count, ${now},
      case live.runs when 0 then 'running' else 'queued' end, case live.runs when 0 then 1 end,
      case live.runs when 0 then ${now} end, 1
    from ${session} as session, ${live} as live where live.runs <= ${bigint(p.maxLive)}
    returning status, number`;
  const liveOf = (p: NewRun) =>
    sql`select count(*) as runs from agent_run where session_id = ${text(p.sessionId)} and ended_at is null`;

  return {
    define,
    inGroup,
    begin: statement((p: NewRun & { number: number }) =>
      insertRun(p, sql`(select ${bigint(p.number)} as run_count)`, sql`(${liveOf(p)})`),
    ),
    /** On PostgreSQL in one round trip. Of two that begin together, the index on active runs refuses one; its caller tries again. */
    beginAtOnce: isPostgres
      ? statement(
          (p: NewRun & Prefixed<ReturnType<typeof toMessageRow>>) =>
            sql<{ status: 'queued' | 'running' | null; found: boolean }>`with counted as (
              update agent_session set run_count = run_count + 1, updated_at = ${now}
              where id = ${text(p.sessionId)} returning run_count
            ), begun as (${insertRun(p, sql`counted`, sql`(${liveOf(p)})`)}), question as (
              insert into agent_message (id, session_id, run_id, position, number, type, content, status, request_id,
                extras, hidden, created_at)
              select ${text(p.message_id)}, ${text(p.sessionId)}, ${text(p.runId)}, ${text(p.message_position)},
                2 * begun.number, ${text(p.message_type)}, ${text(p.message_content)}, ${text(p.message_status)},
                ${text(p.message_requestId)}, ${text(p.message_extras)}, ${text(p.message_hidden)},
                ${bigint(p.message_createdAt)}
              from begun
            )
            select (select status from begun) as status, exists (select 1 from counted) as found`,
        )
      : undefined,
  };
}
