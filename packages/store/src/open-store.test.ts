import { mkdir, rename, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createTempDir, createTestDatabase, freePort, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openStore, StoreError } from './index.ts';

const failure = async (url: string, options = {}): Promise<StoreError> => {
  const error = await openStore(url, options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StoreError)) throw new Error(`expected a StoreError, got ${error}`);
  return error;
};

describe('addresses', () => {
  test.each([
    'mysql://root:hunter2@host/db',
    'hunter2',
    '',
    'file:',
    'file:///%zz',
    'file://host/x.sqlite',
    'file:./a.sqlite?hunter2=1',
    'postgres://u:hunter2@h:port/x',
  ])('%s is refused without its password in the message', async (url) => {
    const error = await failure(url);
    expect(error.kind).toBe('bad-url');
    if (!url.startsWith('file:')) expect(error.message + JSON.stringify(error)).not.toContain('hunter2');
  });

  test('file addresses may be relative, absolute or URLs, and the folder is made', async () => {
    await using dir = await createTempDir();
    for (const url of [`file:${dir.path}/new/deep/a.sqlite`, `file://${dir.path}/with%20space/b.sqlite`]) {
      const store = await openStore(url);
      expect(store.engine).toBe('sqlite');
      await store.close();
    }
    expect(new DatabaseSync(join(dir.path, 'with space', 'b.sqlite'), { readOnly: true }).isOpen).toBe(true);
    const memory = await openStore('file::memory:');
    expect(await memory.ping()).toBe(true);
    await memory.close();
  });
});

test('on SQLite a limit is no bare parameter, whose every value would have the statement compiled again', async () => {
  const store = await openStore<{ item: { id: string } }>('file::memory:');
  const { sql: text, parameters } = store.db.selectFrom('item').select('id').limit(5).compile();
  expect([text, parameters]).toEqual(['select "id" from "item" limit cast(? as integer)', [5]]);
  await store.close();
});

describe('SQLite faults', () => {
  test('a folder that cannot be made, a folder in the place of the file', async () => {
    await using dir = await createTempDir();
    await writeFile(join(dir.path, 'file'), '');
    await mkdir(join(dir.path, 'folder'));
    for (const path of ['file/x.sqlite', 'folder']) {
      const error = await failure(`file:${join(dir.path, path)}`);
      expect(error).toMatchObject({ kind: 'unwritable', message: expect.stringContaining(join(dir.path, path)) });
    }
  });

  test('a file that is no database', async () => {
    await using dir = await createTempDir();
    const path = join(dir.path, 'x.sqlite');
    await writeFile(path, 'not a database at all '.repeat(100));
    expect(await failure(`file:${path}`)).toMatchObject({
      kind: 'corrupt',
      message: `${path} is not a SQLite database, or it is damaged`,
    });
  });

  test('a lock of another connection is waited for, and reported when it stays', async () => {
    await using database = await createTestDatabase('sqlite');
    const store = await openStore(database.url, { waitMs: 300 });
    const patient = await openStore(database.url, { waitMs: 60_000 });
    const other = new DatabaseSync(database.url.slice('file:'.length));
    other.exec('begin immediate');
    await expect(sql`create table a (id int)`.execute(store.db)).rejects.toMatchObject({ kind: 'locked' });
    await expect(store.transaction(async () => {})).rejects.toMatchObject({ kind: 'locked' });
    expect(await failure(database.url, { waitMs: 50 })).toMatchObject({ kind: 'locked' });
    const waiting = sql`create table a (id int)`.execute(patient.db);
    await new Promise((resolve) => setTimeout(resolve, 50));
    other.exec('rollback');
    await waiting;
    other.close();
    for (const opened of [store, patient]) await opened.close();
  });

  test('the database is durable at every commit, and in WAL mode', async () => {
    await using database = await createTestDatabase('sqlite');
    const store = await openStore(database.url);
    expect((await sql`pragma synchronous`.execute(store.db)).rows).toEqual([{ synchronous: 2 }]);
    expect((await sql`pragma journal_mode`.execute(store.db)).rows).toEqual([{ journal_mode: 'wal' }]);
    await store.close();
  });

  test('a file that was taken away takes no transaction, and does again when it is back', async () => {
    await using database = await createTestDatabase('sqlite');
    const store = await openStore(database.url);
    const path = database.url.slice('file:'.length);
    const write = () => store.transaction(async (trx) => sql`create table if not exists note (id text)`.execute(trx));
    await rename(path, `${path}.away`);
    await expect(write()).rejects.toMatchObject({ name: 'StoreError', kind: 'unwritable' });
    await writeFile(path, '');
    await expect(write()).rejects.toMatchObject({ kind: 'unwritable' });
    await rename(`${path}.away`, path);
    await write();
    await store.close();
  });

  test('ping notices a file that was taken away, and its return', async () => {
    await using database = await createTestDatabase('sqlite');
    const store = await openStore(database.url);
    const path = database.url.slice('file:'.length);
    await rename(path, `${path}.away`);
    expect(await store.ping()).toBe(false);
    await writeFile(path, '');
    expect(await store.ping()).toBe(false);
    await rename(`${path}.away`, path);
    expect(await store.ping()).toBe(true);
    await store.close();
  });
});

describe('PostgreSQL faults', () => {
  test('nobody listens, no such database: one sentence without the password', async () => {
    const port = await freePort();
    const refused = await failure(`postgres://user:hunter2@127.0.0.1:${port}/x`);
    expect(refused).toMatchObject({
      kind: 'unreachable',
      message: expect.stringMatching(`^cannot use PostgreSQL at 127.0.0.1:${port}/x: .*ECONNREFUSED`),
    });
    await using database = await createTestDatabase('postgres');
    const missing = await failure(
      Object.assign(new URL(database.url), { pathname: '/nowhere', password: 'hunter2' }).href,
    );
    expect(missing).toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('"nowhere" does not exist'),
    });
    for (const error of [refused, missing]) expect(String(error) + JSON.stringify(error)).not.toContain('hunter2');
  });

  test('a server that accepts and says nothing is given up after the limit', async () => {
    const server = createServer(() => {});
    const port = await listen(server);
    const error = await failure(`postgres://user@127.0.0.1:${port}/x`, { waitMs: 200 });
    expect(error).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('timeout') });
    server.close();
  });

  test('the statement timeout ends a query that runs too long', async () => {
    await using database = await createTestDatabase('postgres');
    const store = await openStore(database.url, { statementTimeoutMs: 100 });
    await expect(sql`select pg_sleep(20)`.execute(store.db)).rejects.toThrow('statement timeout');
    await store.close();
  });

  test('a server that falls silent is given up, and its connection too', async () => {
    await using database = await createTestDatabase('postgres');
    const target = new URL(database.url);
    const relay = createServer((socket) => {
      const upstream = connect(Number(target.port), target.hostname);
      upstream.pipe(socket);
      // Swallows what mentions silence, and every later word of that connection.
      let silent = false;
      socket.on('data', (chunk) => {
        silent ||= chunk.includes('silence');
        if (!silent) upstream.write(chunk);
      });
      const end = () => {
        socket.destroy();
        upstream.destroy();
      };
      for (const side of [socket, upstream]) side.on('error', end).on('close', end);
    });
    const port = await listen(relay);
    const store = await openStore(Object.assign(new URL(database.url), { port }).href, {
      statementTimeoutMs: 100,
      poolSize: 1,
    });
    await expect(sql`select 'silence'`.execute(store.db)).rejects.toThrow('timeout');
    expect((await sql`select 1 as one`.execute(store.db)).rows).toEqual([{ one: 1 }]);
    await store.close();
    relay.close();
  });

  test('connections that are cut, idle or in a transaction, hurt only what ran on them', async () => {
    await using database = await createTestDatabase('postgres');
    const store = await openStore<{ item: { id: string } }>(database.url);
    await sql`create table item (id text)`.execute(store.db);
    const writer = store.createGroupWriter<string, void>({
      async apply(trx, ids) {
        await trx
          .insertInto('item')
          .values(ids.map((id) => ({ id })))
          .execute();
        if (ids.includes('cut')) await cutAll(database.url);
        return ids.map(() => undefined);
      },
    });
    await cutAll(database.url);
    expect(await waitFor('a new connection', () => store.ping())).toBe(true);
    const inTransaction = store.transaction(async (trx) => {
      await sql`select 1`.execute(trx);
      await cutAll(database.url);
      await sql`select 1`.execute(trx);
    });
    await expect(inTransaction).rejects.toThrow();
    const cut = await Promise.allSettled([writer.write('beside'), writer.write('cut')]);
    expect(cut.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await writer.write('after');
    expect(await store.db.selectFrom('item').selectAll().execute()).toEqual([{ id: 'after' }]);
    await store.close();
  });

  test('ping follows the database as it goes away and comes back', async () => {
    await using database = await createTestDatabase('postgres');
    const store = await openStore(database.url);
    const name = new URL(database.url).pathname.slice(1);
    await onServer(database.url, `alter database ${name} allow_connections false`);
    await cutAll(database.url);
    await waitFor('ping to say no', async () => !(await store.ping()));
    await onServer(database.url, `alter database ${name} allow_connections true`);
    await waitFor('ping to say yes', () => store.ping());
    await store.close();
  });
});

/** Ends every connection to the database but the one that says so, as a restart of the server would. */
async function cutAll(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await onServer(url, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
}

async function onServer(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: '/postgres' }).href });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP port was given');
  return address.port;
}
