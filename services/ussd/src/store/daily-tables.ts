import type { Store } from '@palaver/store';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { UssdTables } from './tables.ts';

export const dayMs = 24 * 3_600_000;

/** Around midnight two instances may put the same new row into different days. Longer than any statement may take. */
const midnightMs = 60_000;
const advisoryLock = 7_252_839;
/** Dropping a partition locks the whole table for a moment; who holds it longer is not waited for. */
const lockTimeout = sql.lit('500ms');

const tables = [
  { name: 'ussd_session_day', like: 'ussd_session', key: 'id', indexes: ['status, opened_at', 'phone'] },
  { name: 'ussd_effect_day', like: 'ussd_effect', key: 'key', indexes: ['phone'] },
] as const;

/** Sessions and results of actions in one partition for each day (UTC), dropped as a whole when they are past their time. */
export interface DailyTables {
  /** The day of a row that is made now; 0 before the first one: it belongs to the table without partitions. */
  dayOf(now: number): number;
  /** Keeps instances from making the same row in two days, until the transaction ends. */
  lockNearMidnight(trx: Transaction<UssdTables>): Promise<void>;
  isNearMidnight(now: number): boolean;
  /** Creates the partitions of today and tomorrow, and drops those past their time. */
  rotate(now: number): Promise<void>;
}

export interface DailyOptions {
  /** The first day with a partition, in days since 1970. */
  from: number;
  retentionMs: number;
}

type Rotated = Pick<Store<UssdTables>, 'db' | 'transaction'>;

/** Creates the tables where they are missing; their columns follow those of the tables without partitions. */
export async function openDailyTables(
  store: Rotated,
  { from, retentionMs }: DailyOptions,
  now: number,
): Promise<DailyTables> {
  let rotatedOn = Number.NaN;
  /** A row may be written until the day after it was made, and is kept for `retentionMs` then. */
  const keptDays = Math.ceil(retentionMs / dayMs) + 1;

  async function rotate(at: number): Promise<void> {
    const today = toDay(at);
    if (today === rotatedOn) return;
    await store.transaction(
      async (trx) => {
        await sql`select pg_advisory_xact_lock(${sql.lit(advisoryLock)})`.execute(trx);
        await sql`set local lock_timeout = ${lockTimeout}`.execute(trx);
        for (const { name } of tables) {
          const existing = await listPartitions(trx, name);
          for (const day of [today, today + 1])
            if (!existing.includes(toPartition(name, day))) await addPartition(trx, name, day);
          const oldest = toPartition(name, today - keptDays);
          for (const partition of existing) if (partition < oldest) await dropTable(trx, partition);
        }
      },
      { isolation: 'read committed' },
    );
    rotatedOn = today;
  }

  await store.transaction(createTables, { isolation: 'read committed' });
  await rotate(now);
  return {
    dayOf: (at) => (toDay(at) < from ? 0 : toDay(at)),
    isNearMidnight: (at) => (at + midnightMs) % dayMs < 2 * midnightMs,
    async lockNearMidnight(trx) {
      await sql`select pg_advisory_xact_lock(${sql.lit(advisoryLock + 1)})`.execute(trx);
    },
    rotate,
  };
}

/** Whether rows are kept by the day in this database. */
export async function hasDailyTables(db: Kysely<UssdTables>): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select to_regclass(${tables[0].name}) is not null as found`.execute(
    db,
  );
  return rows[0]?.found === true;
}

const toDay = (ms: number) => Math.floor(ms / dayMs);

/** Such as `ussd_session_day_20261117`: sorted by name they are sorted by day. */
function toPartition(table: string, day: number): string {
  return `${table}_${new Date(day * dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

async function createTables(trx: Transaction<UssdTables>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(advisoryLock)})`.execute(trx);
  for (const { name, like, key, indexes } of tables) {
    const table = sql.table(name);
    await sql`create table if not exists ${table} (day integer not null, like ${sql.table(like)} including defaults)
      partition by list (day)`.execute(trx);
    await addMissingColumns(trx, name, like);
    await sql`create unique index if not exists ${sql.id(`${name}_key`)} on ${table} (${sql.id(key)}, day)`.execute(
      trx,
    );
    for (const columns of indexes) {
      const index = sql.id(`${name}_${columns.split(',')[0]}`);
      await sql`create index if not exists ${index} on ${table} (${sql.raw(columns)})`.execute(trx);
    }
  }
}

/** A later version may have added columns to the table that this one was made after. */
async function addMissingColumns(trx: Transaction<UssdTables>, name: string, like: string): Promise<void> {
  const { rows } = await sql<{ definition: string }>`
    select format('%I %s%s%s%s', attname, format_type(atttypid, atttypmod),
      case when attcollation <> 0 then format(' collate %s', attcollation::regcollation) else '' end,
      case when attnotnull then ' not null' else '' end,
      coalesce(' default ' || pg_get_expr(adbin, adrelid), '')) as definition
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid = ${like}::regclass and attnum > 0 and not attisdropped and attname not in (
      select attname from pg_attribute where attrelid = ${name}::regclass and not attisdropped)
    order by attnum`.execute(trx);
  for (const { definition } of rows)
    await sql`alter table ${sql.table(name)} add column ${sql.raw(definition)}`.execute(trx);
}

async function listPartitions(trx: Transaction<UssdTables>, name: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select inhrelid::regclass::text as name from pg_inherits
    where inhparent = ${name}::regclass`.execute(trx);
  return rows.map((row) => row.name);
}

/** Attached when it is complete, which holds nobody up; `create table … partition of` would lock the whole table. */
async function addPartition(trx: Transaction<UssdTables>, name: string, day: number): Promise<void> {
  const partition = sql.table(toPartition(name, day));
  await sql`create table ${partition} (like ${sql.table(name)} including all)`.execute(trx);
  await sql`alter table ${sql.table(name)} attach partition ${partition} for values in (${sql.lit(day)})`.execute(trx);
}

async function dropTable(trx: Transaction<UssdTables>, name: string): Promise<void> {
  await sql`drop table ${sql.table(name)}`.execute(trx);
}
