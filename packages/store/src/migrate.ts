import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Engine, RunTransaction } from './engine.ts';
import { messageOf, StoreError } from './store-error.ts';

/**
 * One step forward. Steps are never changed or removed once released; names sort in the order they are listed. A step only
 * expands (new tables, new columns with a default or null, new indexes), so that the previous version still runs. The texts
 * of new columns are compared by the byte on both engines.
 */
export interface Migration {
  /** Such as `0001-create-accounts`. */
  name: string;
  /** On PostgreSQL runs outside of a transaction, as `create index concurrently` must (`createIndex`). After a failure it may run again. */
  concurrent?: boolean;
  /** The previous version cannot run on it, and is refused from then on. */
  breaking?: boolean;
  up(db: Kysely<unknown>, engine: Engine): Promise<void>;
}

interface MigrationTable {
  palaver_migration: { component: string; name: string; applied_at: number; breaking: number };
}

interface MigrateOptions<DB> {
  transaction: RunTransaction<DB>;
  db: Kysely<DB>;
  engine: Engine;
  component: string;
  migrations: readonly Migration[];
}

/** Any number; all instances on one PostgreSQL database wait for each other on it. */
const advisoryLock = 7_252_837;
const lockPollMs = 100;

/** The rows of PostgreSQL's catalogue that the current transaction has written. */
const addedNow = sql`pg_attribute.xmin = pg_current_xact_id()::xid`;

/** `busy`: another instance is migrating. */
type Progress = 'more' | 'done' | 'busy';

export async function migrate<DB>(options: MigrateOptions<DB>): Promise<void> {
  assertOrdered(options.component, options.migrations);
  for (let state: Progress = 'more'; state !== 'done'; ) {
    state = await applyNext(options);
    if (state === 'busy') await sleep(lockPollMs);
  }
}

export async function checkMigrated<DB>(options: Omit<MigrateOptions<DB>, 'transaction'>): Promise<void> {
  const { component, migrations, engine } = options;
  const db = options.db as unknown as Kysely<MigrationTable>;
  const hasTable = (await db.introspection.getTables()).some(({ name }) => name === 'palaver_migration');
  const pending = hasTable ? pendingOf(component, migrations, await loadApplied(db, component)) : migrations;
  if (pending.length === 0) return;
  const names = pending.map(({ name }) => name).join(', ');
  const where = engine === 'postgres' ? 'PostgreSQL' : 'SQLite';
  throw new StoreError(
    'migration-failed',
    `the ${where} database lacks migration ${names} of ${component} and MIGRATE_ON_START is off; run: palaver migrate`,
  );
}

function applyNext<DB>({ transaction, db, engine, component, migrations }: MigrateOptions<DB>): Promise<Progress> {
  // Read committed: once the lock is taken, the next statement must see what its last holder committed.
  return transaction(
    async (handle) => {
      const trx = handle as unknown as Transaction<MigrationTable>;
      if (engine === 'postgres') {
        // Not waited for in a statement: a concurrent index waits for every statement that began before it.
        const lock = sql<{ taken: boolean }>`select pg_try_advisory_xact_lock(${sql.lit(advisoryLock)}) as taken`;
        if (!(await lock.execute(trx)).rows[0]?.taken) return 'busy';
      }
      await sql`create table if not exists palaver_migration (
        component text not null, name text not null, applied_at bigint not null, breaking integer not null,
        constraint palaver_migration_pk primary key (component, name))`.execute(trx);
      const pending = pendingOf(component, migrations, await loadApplied(trx, component));
      const isConcurrent = ({ concurrent }: Migration) => concurrent === true && engine === 'postgres';
      const [first] = pending;
      if (!first) return 'done';
      const end = pending.findIndex(isConcurrent);
      const steps = isConcurrent(first) ? [first] : pending.slice(0, end === -1 ? undefined : end);
      for (const migration of steps) {
        const { name, breaking = false } = migration;
        try {
          // This transaction waits for the step, however long it takes, and holds the lock. A statement without parameters also
          // releases the last snapshot, which a concurrent index would wait for.
          if (isConcurrent(migration)) await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
          await migration.up((isConcurrent(migration) ? db : trx) as unknown as Kysely<unknown>, engine);
        } catch (error) {
          const what = `migration ${name} of ${component} failed and the database was left as it was`;
          throw new StoreError('migration-failed', `${what}: ${messageOf(error)}`, error);
        }
        const row = { component, name, applied_at: Date.now(), breaking: breaking ? 1 : 0 };
        await trx.insertInto('palaver_migration').values(row).execute();
      }
      if (engine === 'postgres') await collateColumns(trx);
      return steps.length < pending.length ? 'more' : 'done';
    },
    { isolation: 'read committed' },
  );
}

/**
 * An index that PostgreSQL builds without blocking writes, in a migration that is `concurrent`.
 *
 * @example
 * ```ts
 * import { createIndex, type Migration } from '@palaver/store';
 *
 * export const indexGoats: Migration = {
 *   name: '0002-goats-by-owner',
 *   concurrent: true,
 *   up: (db, engine) => createIndex(db, engine, { name: 'goat_owner', on: 'goat (owner)' }),
 * };
 * ```
 */
export async function createIndex(
  db: Kysely<unknown>,
  engine: Engine,
  index: { name: string; on: string },
): Promise<void> {
  const name = sql.id(index.name);
  if (engine === 'sqlite') {
    await sql`create index if not exists ${name} on ${sql.raw(index.on)}`.execute(db);
    return;
  }
  // An index whose creation failed half-way exists but is not used.
  const { rows } = await sql<{ valid: boolean }>`
    select indisvalid as valid from pg_index where indexrelid = to_regclass(${index.name})`.execute(db);
  if (rows[0]?.valid) return;
  if (rows[0]) await sql`drop index concurrently ${name}`.execute(db);
  await sql`create index concurrently ${name} on ${sql.raw(index.on)}`.execute(db);
}

async function loadApplied(db: Kysely<MigrationTable>, component: string): Promise<Map<string, boolean>> {
  const rows = await db.selectFrom('palaver_migration').selectAll().where('component', '=', component).execute();
  return new Map(rows.map(({ name, breaking }) => [name, breaking === 1]));
}

function assertOrdered(component: string, migrations: readonly Migration[]): void {
  for (const [index, { name }] of migrations.entries()) {
    const previous = migrations[index - 1]?.name;
    if (previous !== undefined && previous >= name)
      throw new StoreError('migration-failed', `migration ${name} of ${component} is listed after ${previous}`);
  }
}

function pendingOf(component: string, migrations: readonly Migration[], applied: ReadonlyMap<string, boolean>) {
  const known = new Set(migrations.map(({ name }) => name));
  // Steps of a newer version that only add are accepted: during an upgrade both versions run.
  const unknown = [...applied].flatMap(([name, breaking]) => (breaking && !known.has(name) ? [name] : [])).sort();
  if (unknown.length > 0) {
    const found = `it holds migration ${unknown.join(', ')} of ${component}, which this version does not have`;
    throw new StoreError('newer', `the database was written by a newer version: ${found}`);
  }
  const pending = migrations.filter(({ name }) => !applied.has(name));
  const [first] = pending;
  const later = first && migrations.findLast(({ name }) => applied.has(name) && name > first.name);
  if (later) {
    const what = `migration ${first.name} of ${component} comes before ${later.name}, which was already applied`;
    throw new StoreError('migration-failed', what);
  }
  return pending;
}

/** The default collation of a database orders texts by a language: `a:` may come after `a;`, and servers differ. */
async function collateColumns(trx: Transaction<MigrationTable>): Promise<void> {
  const { rows } = await sql<{ statement: string }>`
    select format('alter table %s ', pg_class.oid::regclass) || string_agg(format(
      'alter column %I type %s collate "C"', attname, format_type(atttypid, atttypmod)), ', ') as statement
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where attcollation = '"default"'::regcollation and attnum > 0 and not attisdropped
      and relkind = 'r' and relnamespace = current_schema()::regnamespace and ${addedNow}
      -- PostgreSQL changes no column that a generated one is computed from.
      and not exists (select 1 from pg_attrdef join pg_attribute as made on made.attrelid = adrelid and made.attnum = adnum
        join pg_depend on classid = 'pg_attrdef'::regclass and objid = pg_attrdef.oid and refobjid = adrelid
        where adrelid = pg_attribute.attrelid and made.attgenerated <> '' and refobjsubid = pg_attribute.attnum)
    group by pg_class.oid`.execute(trx);
  for (const { statement } of rows) await sql.raw(statement).execute(trx);
}
