import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { sql } from 'kysely';
import { isFullBatch, removeBite } from './retention.ts';

/**
 * Which rows of a table are settled, and since when.
 *
 * @example
 * ```ts
 * import type { SettledRule } from '@palaver/agent';
 *
 * export const rule: SettledRule = { table: 'goat_sale', time: 'paid_at', statuses: ['paid', 'returned'] };
 * ```
 */
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
      while (isFullBatch(await removeBite(store, table, sql`${isSettled} and ${isOld}`)));
    }
  };
  return runEvery({
    everyMs: days === 0 ? 0 : everyMs,
    work: remove,
    onFault: (error) => logger.warn({ err: error }, 'what is past its time cannot be removed now'),
  });
}
