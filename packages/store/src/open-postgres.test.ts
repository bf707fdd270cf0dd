import { createTestDatabase } from '@palaver/test-kit';
import { sql } from 'kysely';
import pg from 'pg';
import { expect, test } from 'vitest';
import { openStore } from './index.ts';
import { parsePostgresUrl } from './open-postgres.ts';
import { toUnavailable } from './store-error.ts';

const dead = '127.0.0.1:1';

/** The same server under another database, which refuses writes, acts as a standby. */
async function createStandby() {
  const database = await createTestDatabase('postgres');
  const { host, pathname } = new URL(database.url);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`);
  await client.end();
  return { ...database, host };
}

test('addresses with one host and with several', () => {
  expect(parsePostgresUrl('postgres://u:p@a:5433/x?sslmode=disable')).toEqual({
    urls: ['postgres://u:p@a:5433/x?sslmode=disable'],
    writable: false,
    target: 'a:5433/x',
  });
  expect(parsePostgresUrl('postgresql://u:p@a,b:5433/x?target_session_attrs=read-write')).toEqual({
    urls: ['postgresql://u:p@a/x', 'postgresql://u:p@b:5433/x'],
    writable: true,
    target: 'a:5432,b:5433/x',
  });
  expect(parsePostgresUrl('postgres://a,b/x').writable).toBe(true);
  expect(parsePostgresUrl('postgres://a,b/x?target_session_attrs=any').writable).toBe(false);
  for (const bad of ['postgres://u:p@a:b/x', 'postgres://a,,/x?', 'postgres:/x']) {
    expect(() => parsePostgresUrl(bad)).toThrow('malformed');
  }
});

test('a host that is unreachable is passed over', async () => {
  await using database = await createTestDatabase('postgres');
  const { host } = new URL(database.url);
  const store = await openStore<unknown>(database.url.replace(host, `${dead},${host}`));
  expect((await sql`select 1 as one`.execute(store.db)).rows).toEqual([{ one: 1 }]);
  expect(await store.ping()).toBe(true);
  await store.close();
});

test('a host that takes no writes is passed over, or refused where there is no other', async () => {
  await using standby = await createStandby();
  const several = standby.url.replace(standby.host, `${dead},${standby.host}`);
  await expect(openStore(several)).rejects.toMatchObject({ kind: 'unreachable' });
  const any = await openStore<unknown>(`${several}?target_session_attrs=any`);
  expect(await any.ping()).toBe(true);
  await any.close();
  await expect(openStore(`${standby.url}?target_session_attrs=read-write`)).rejects.toThrow('takes no writes');
});

test('reports are read from the replica, and from the database itself while the replica is unreachable', async () => {
  await using database = await createTestDatabase('postgres');
  await using replica = await createStandby();
  const nameOf = async (readUrl: string) => {
    const store = await openStore<unknown>(database.url, { readUrl });
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(store.readDb);
    await store.close();
    return `/${rows[0]?.name}`;
  };
  expect(await nameOf(replica.url)).toBe(new URL(replica.url).pathname);
  expect(await nameOf(`postgres://postgres@${dead}/x`)).toBe(new URL(database.url).pathname);
});

test('requests do not wait for reports that are read on the same database, and a report that takes too long is an overload', async () => {
  await using database = await createTestDatabase('postgres');
  const store = await openStore<unknown>(database.url, { statementTimeoutMs: 3_000 });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  client.on('error', () => {});
  await client.query('create table goat (id int)');
  await client.query('begin; lock table goat in access exclusive mode');
  const reports = Array.from({ length: 30 }, () =>
    sql`select * from goat`.execute(store.readDb).then(
      () => undefined,
      (error: unknown) => toUnavailable(error)?.code,
    ),
  );
  expect((await sql`select 1 as one`.execute(store.db)).rows).toEqual([{ one: 1 }]);
  const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(store.db);
  expect(rows[0]?.count).toBeLessThanOrEqual(3);
  expect(await reports[0]).toBe('UNAVAILABLE');
  await client.query('rollback');
  await Promise.all(reports);
  await client.end();
  await store.close();
});

test('transactions that collide each time they are tried are answered like a database that is busy', async () => {
  await using database = await createTestDatabase('postgres');
  const store = await openStore<{ counter: { n: number } }>(database.url);
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  await store.db.schema.createTable('counter').addColumn('n', 'integer').execute();
  await store.db.insertInto('counter').values({ n: 0 }).execute();
  const collide = store.transaction(async (trx) => {
    await trx.selectFrom('counter').selectAll().execute();
    await store.db
      .updateTable('counter')
      .set((eb) => ({ n: eb('n', '+', 1) }))
      .execute();
    await trx.updateTable('counter').set({ n: 0 }).execute();
  });
  expect(await collide.catch((error: unknown) => toUnavailable(error)?.code)).toBe('UNAVAILABLE');
});
