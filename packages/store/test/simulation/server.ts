import type { DatabaseSync } from 'node:sqlite';
import { CompiledQuery, Kysely, type QueryResult } from 'kysely';
import pg from 'pg';
import type { RunTransaction } from '../../src/engine.ts';
import { type Migration, migrate } from '../../src/migrate.ts';
import { openPostgres } from '../../src/open-postgres.ts';
import { bindValue } from '../../src/prepare-query.ts';

/**
 * A database of this process on a PostgreSQL server, used through one connection, whose clock is the world's: a function
 * of its own replaces that of PostgreSQL. Tables are copied to SQLite after each commit, where the checks read them.
 */
export async function openServer(url: string, migrations: Record<string, readonly Migration[]>) {
  const name = `simulation_${process.pid}`;
  const own = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  await query(url, `create database ${name}`);
  await query(url, `alter database ${name} set search_path = simulated, pg_catalog`);
  await query(
    own,
    `create schema simulated;
    create function simulated.clock_timestamp() returns timestamptz language sql volatile as
      $$ select to_timestamp(current_setting('simulated.now')::float8 / 1000) $$`,
  );
  const { dialect } = await openPostgres(own, { poolSize: 1 });
  const plain = new Kysely<Record<string, unknown>>({ dialect });
  await query(own, `alter database ${name} set simulated.now = '0'`);
  const plainly: RunTransaction<Record<string, unknown>> = (fn) => plain.transaction().execute(fn);
  for (const [component, list] of Object.entries(migrations))
    await migrate({ transaction: plainly, db: plain, engine: 'postgres', component, migrations: list });
  const driver = dialect.createDriver();
  await driver.init();
  const connection = await driver.acquireConnection();
  const run = (text: string, parameters: unknown[] = []) =>
    connection.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, parameters));

  return {
    dialect,
    execute: (given: CompiledQuery): Promise<QueryResult<never>> => connection.executeQuery<never>(given),
    begin: () => driver.beginTransaction(connection, {}),
    commit: () => driver.commitTransaction(connection),
    rollback: () => driver.rollbackTransaction(connection),
    setTime: (ms: number) => run("select set_config('simulated.now', $1, false)", [String(ms)]),
    // Records of the audit log cannot be taken back, and nothing reads them here.
    async erase(tables: string[]): Promise<void> {
      for (const table of tables) if (!/audit/.test(table)) await run(`delete from ${table}`);
    },
    async copy(table: string, mirror: DatabaseSync): Promise<void> {
      const { rows } = await run(`select * from ${table}`);
      mirror.exec(`delete from ${table}`);
      for (const row of rows) {
        const names = Object.keys(row);
        const insert = `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`;
        mirror.prepare(insert).run(...Object.values(row).map(bindValue));
      }
    },
  };
}

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}
