import { envInteger, type Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { sql } from 'kysely';
import { isFullBatch, removeBite } from '../store/retention.ts';

export const settledVariables = {
  RETENTION_CLAIMS_DAYS: envInteger({ min: 0, max: 36_500 }).prefault('0').meta({
    description:
      'Days that usage claims, orders on the chain and their transactions are kept after they were settled; 0 keeps them until erased.',
    example: '730',
  }),
};

export interface SettledRule {
  table: string;
  /** The column of the time that counts. */
  time: string;
  statuses: readonly string[];
}

export interface SettledParts<T> {
  store: Pick<Store<T>, 'db' | 'engine'>;
  logger: Logger;
  /** 0 keeps them. */
  days: number;
  rules: readonly SettledRule[];
  everyMs?: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Removes rows that were settled more than the given number of days ago, one batch per table at a time. */
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
