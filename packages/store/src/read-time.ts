import { sql } from 'kysely';
import type { Store } from './store.ts';

/** PostgreSQL's own time in milliseconds; `undefined` on SQLite, which has this machine's. */
export function timeReaderOf<DB>({
  engine,
  db,
}: Pick<Store<DB>, 'engine' | 'db'>): (() => Promise<number>) | undefined {
  if (engine === 'sqlite') return undefined;
  const query = sql<{ ms: number }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
  return async () => Number((await query.execute(db)).rows[0]?.ms);
}
