import { sql, type Transaction } from 'kysely';
import type { Engine, RunTransaction } from './store.ts';
import { messageOf, StoreError } from './store-error.ts';

/** One step forward. Steps are never changed or removed once released; names sort in the order they are listed. */
export interface Migration {
  /** Such as `001-create-accounts`. */
  name: string;
  up(db: Transaction<unknown>, engine: Engine): Promise<void>;
}

interface MigrationTable {
  palaver_migration: { component: string; name: string; applied_at: number };
}

/** Any number; all instances of all components on one PostgreSQL database wait for each other on it. */
const advisoryLock = 7_252_837;

export async function migrate<DB>(options: {
  transaction: RunTransaction<DB>;
  engine: Engine;
  component: string;
  migrations: readonly Migration[];
}): Promise<void> {
  const { transaction, engine, component, migrations } = options;
  assertOrdered(component, migrations);
  // Read committed: after the wait for the lock, the next statement must see what its holder committed.
  await transaction(
    async (handle) => {
      const trx = handle as unknown as Transaction<MigrationTable>;
      if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(advisoryLock)})`.execute(trx);
      await createMigrationTable(trx);
      const applied = await trx
        .selectFrom('palaver_migration')
        .select('name')
        .where('component', '=', component)
        .execute();
      for (const migration of pendingOf(component, migrations, new Set(applied.map(({ name }) => name)))) {
        const { name } = migration;
        try {
          await migration.up(trx as unknown as Transaction<unknown>, engine);
        } catch (error) {
          const what = `migration ${name} of ${component} failed and the database was left as it was`;
          throw new StoreError('migration-failed', `${what}: ${messageOf(error)}`, error);
        }
        await trx.insertInto('palaver_migration').values({ component, name, applied_at: Date.now() }).execute();
      }
    },
    { isolation: 'read committed' },
  );
}

function assertOrdered(component: string, migrations: readonly Migration[]): void {
  for (const [index, { name }] of migrations.entries()) {
    const previous = migrations[index - 1]?.name;
    if (previous !== undefined && previous >= name) {
      throw new StoreError('migration-failed', `migration ${name} of ${component} is listed after ${previous}`);
    }
  }
}

function pendingOf(component: string, migrations: readonly Migration[], applied: ReadonlySet<string>): Migration[] {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...applied].filter((name) => !known.has(name)).sort();
  if (unknown.length > 0) {
    const found = `it holds migration ${unknown.join(', ')} of ${component}, which this version does not know`;
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

async function createMigrationTable(trx: Transaction<MigrationTable>): Promise<void> {
  await trx.schema
    .createTable('palaver_migration')
    .ifNotExists()
    .addColumn('component', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('palaver_migration_pk', ['component', 'name'])
    .execute();
}
