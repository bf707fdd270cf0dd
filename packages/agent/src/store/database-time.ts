import type { Engine } from '@palaver/store';
import { type RawBuilder, sql } from 'kysely';

/** The database's clock in epoch milliseconds: the one clock that all instances share. */
export function databaseTime(engine: Engine): RawBuilder<number> {
  return engine === 'postgres'
    ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`;
}
