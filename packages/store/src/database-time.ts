import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './engine.ts';
import type { Store } from './store.ts';

/** The database's clock in epoch milliseconds: the one clock that all instances share. */
export function databaseTime(engine: Engine): RawBuilder<number> {
  return engine === 'postgres'
    ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`;
}

/** PostgreSQL's own time; `undefined` on SQLite, which has this machine's. */
export function timeReaderOf<DB>({
  engine,
  db,
}: Pick<Store<DB>, 'engine' | 'db'>): (() => Promise<number>) | undefined {
  if (engine === 'sqlite') return undefined;
  const query = sql<{ ms: number }>`select ${databaseTime(engine)} as ms`;
  return async () => Number((await query.execute(db)).rows[0]?.ms);
}
