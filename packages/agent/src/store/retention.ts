import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { sql } from 'kysely';
import type { AgentDatabase } from './schema.ts';

export interface RetentionRules {
  framesMs: number;
  sendsMs: number;
  runsMs: number;
  /** 0 keeps them. */
  messagesMs: number;
  /** After the last message; 0 keeps them. */
  sessionsMs: number;
  /** After their expiry. */
  delegationsMs: number;
}

const instanceMs = 24 * 3_600_000;
const batchSize = 500;

/** Deletes one batch of the rows `old` of a table that meet a condition; returns how many. */
async function removeBatch<T>(
  { db, engine }: Pick<Store<T>, 'db' | 'engine'>,
  table: string,
  condition: ReturnType<typeof sql>,
): Promise<number> {
  // PostgreSQL asks the condition again of each row that it locks. With the condition outside it may read every row
  // that meets it, and with `in (select …)` the whole table.
  const [row, lock] = engine === 'postgres' ? ['ctid', 'for update'] : ['rowid', ''];
  const rows = sql`select ${sql.raw(row)} from ${sql.table(table)} as old where ${condition} limit ${sql.lit(batchSize)} ${sql.raw(lock)}`;
  const among = engine === 'postgres' ? sql`= any(array(${rows}))` : sql`in (${rows})`;
  const result = await sql`delete from ${sql.table(table)} as old where ${sql.raw(row)} ${among}`.execute(db);
  return Number(result.numAffectedRows ?? 0n);
}

/** Deletes what is past its time, by index, one batch of each kind at a time; returns how many. */
export async function deleteExpired({ db, engine }: Store<AgentDatabase>, rules: RetentionRules): Promise<number> {
  const now = databaseTime(engine);
  const ended = sql`not exists (select 1 from agent_run where agent_run.id = old.run_id and agent_run.ended_at is null)`;
  const remove = (table: string, condition: ReturnType<typeof sql>) => removeBatch({ db, engine }, table, condition);
  // A query of its own, so that the time is read once: PostgreSQL uses no index to compare with a clock that runs.
  const before = (ms: number) => sql`(select ${now} - ${sql.lit(ms)})`;
  const endedBefore = (ms: number) => sql`not exists (select 1 from agent_run where agent_run.id = old.run_id
    and (agent_run.ended_at is null or agent_run.ended_at >= ${before(ms)}))`;
  const counts = [
    await remove('agent_frame', sql`old.created_at < ${before(rules.framesMs)} and ${endedBefore(rules.framesMs)}`),
    await remove('agent_step', sql`old.created_at < ${before(rules.framesMs)} and ${ended}`),
    await remove('agent_send', sql`old.created_at < ${before(rules.sendsMs)} and ${ended}`),
    await remove('agent_run', sql`old.ended_at < ${before(rules.runsMs)}`),
    await remove('agent_instance', sql`old.seen_at < ${before(instanceMs)}`),
    await remove('agent_delegation', sql`old.expires_at < ${before(rules.delegationsMs)}`),
  ];
  if (rules.messagesMs > 0)
    counts.push(await remove('agent_message', sql`old.created_at < ${before(rules.messagesMs)} and ${ended}`));
  if (rules.sessionsMs > 0) {
    const isIdle = sql`not exists (select 1 from agent_run where session_id = old.id and ended_at is null)`;
    counts.push(await remove('agent_session', sql`old.updated_at < ${before(rules.sessionsMs)} and ${isIdle}`));
  }
  return Math.max(...counts);
}

export const isFullBatch = (count: number) => count >= batchSize;

/** Which rows of a table are settled, and since when. */
export interface SettledRule {
  table: string;
  /** The column of the time that counts. */
  time: string;
  statuses: readonly string[];
}

interface SettledParts<T> {
  store: Pick<Store<T>, 'db' | 'engine'>;
  logger: Logger;
  /** 0 keeps them. */
  days: number;
  rules: readonly SettledRule[];
  everyMs?: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/**
 * Removes rows of a plugin's tables that were settled more than the given number of days ago, every minute until it is stopped.
 *
 * @example
 * ```ts
 * import { type PluginContext, removeSettled } from '@palaver/agent';
 *
 * const rules = [{ table: 'goat_sale', time: 'paid_at', statuses: ['paid'] }];
 * export const startRemoving = ({ store, logger }: PluginContext) => removeSettled({ store, logger, days: 30, rules });
 * ```
 */
export function removeSettled<T>({ store, logger, days, rules, everyMs = minuteMs }: SettledParts<T>) {
  const remove = async () => {
    const before = sql.lit(Date.now() - days * dayMs);
    for (const { table, time, statuses } of rules) {
      const isSettled = sql`old.status in (${sql.join(statuses.map((status) => sql.lit(status)))})`;
      const isOld = sql`old.${sql.ref(time)} < ${before}`;
      while (isFullBatch(await removeBatch(store, table, sql`${isSettled} and ${isOld}`)));
    }
  };
  return runEvery({
    everyMs: days === 0 ? 0 : everyMs,
    work: remove,
    onFault: (error) => logger.warn({ err: error }, 'what is past its time cannot be removed now'),
  });
}
