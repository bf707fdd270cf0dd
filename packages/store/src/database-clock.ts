import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './engine.ts';
import type { Store } from './store.ts';

/** One time for all instances that share a database, whatever the clocks of their machines show. */
export interface DatabaseClock {
  now(): number;
  stop(): void;
}

/** A slower answer is too inaccurate. */
const maxTripMs = 2_000;

/**
 * Starts a clock that shows PostgreSQL's time: read at the start and regularly, and advanced by the monotonic clock in between.
 * A database that does not answer leaves the last reading in use. SQLite is on this machine and has its time.
 *
 * @example
 * ```ts
 * import { openStore, startDatabaseClock } from '@palaver/store';
 *
 * const clock = await startDatabaseClock(await openStore('file:./data/herd.sqlite'));
 * console.log(new Date(clock.now()));
 * ```
 */
export async function startDatabaseClock<DB>(
  store: Pick<Store<DB>, 'engine' | 'db'>,
  { intervalMs = 10_000 }: { intervalMs?: number } = {},
): Promise<DatabaseClock> {
  const readTime = timeReaderOf(store);
  if (!readTime) return { now: Date.now, stop() {} };
  let offset = Date.now() - performance.now();
  const read = async () => {
    const before = performance.now();
    const ms = await readTime();
    const after = performance.now();
    if (after - before <= maxTripMs) offset = ms - (before + after) / 2;
  };
  const keep = () => read().catch(() => {});
  await keep();
  const timer = setInterval(keep, intervalMs).unref();
  return { now: () => Math.round(performance.now() + offset), stop: () => clearInterval(timer) };
}

/** Epoch milliseconds by the one clock that all instances share. */
export function databaseTime(engine: Engine): RawBuilder<number> {
  return engine === 'postgres'
    ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`;
}

export function timeReaderOf<DB>({
  engine,
  db,
}: Pick<Store<DB>, 'engine' | 'db'>): (() => Promise<number>) | undefined {
  if (engine === 'sqlite') return undefined;
  const query = sql<{ ms: number }>`select ${databaseTime(engine)} as ms`;
  return async () => Number((await query.execute(db)).rows[0]?.ms);
}
