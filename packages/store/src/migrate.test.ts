import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempDir, createTestDatabase, engines, startProcess } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { createIndex, type Migration, openStore } from './index.ts';

const create = (name: string, table: string): Migration => ({
  name,
  async up(db) {
    await db.schema.createTable(table).addColumn('id', 'text').execute();
  },
});
const one = create('001-one', 'one');
const two = create('002-two', 'two');
const three = create('003-three', 'three');

describe.each(engines)('migrations on %s', (engine) => {
  async function setUp() {
    const database = await createTestDatabase(engine);
    const store = await openStore<unknown>(database.url);
    return {
      store,
      url: database.url,
      tables: async () => (await store.db.introspection.getTables()).map(({ name }) => name).sort(),
      async [Symbol.asyncDispose]() {
        await store.close();
        await database[Symbol.asyncDispose]();
      },
    };
  }

  test('a fresh database gets all, a known one only what is new', async () => {
    await using fixture = await setUp();
    await fixture.store.migrate('ussd', [one]);
    await fixture.store.migrate('ussd', [one, two]);
    await fixture.store.migrate('ussd', [one, two]);
    expect(await fixture.tables()).toEqual(['one', 'palaver_migration', 'two']);
  });

  test('each migration receives the engine', async () => {
    await using fixture = await setUp();
    const received: string[] = [];
    await fixture.store.migrate('ussd', [{ name: '001', up: async (_db, name) => void received.push(name) }]);
    expect(received).toEqual([engine]);
  });

  test('components share a database and keep their own names', async () => {
    await using fixture = await setUp();
    await fixture.store.migrate('ussd', [create('001-start', 'ussd_table')]);
    await fixture.store.migrate('agent', [create('001-start', 'agent_table')]);
    expect(await fixture.tables()).toEqual(['agent_table', 'palaver_migration', 'ussd_table']);
  });

  test('one that fails leaves the database as it was', async () => {
    await using fixture = await setUp();
    await fixture.store.migrate('ussd', [one]);
    const bad: Migration = {
      name: '003-bad',
      async up(db) {
        await sql`insert into two values ('x')`.execute(db);
        await sql`insert into nowhere values (1)`.execute(db);
      },
    };
    await expect(fixture.store.migrate('ussd', [one, two, bad])).rejects.toMatchObject({
      kind: 'migration-failed',
      message: expect.stringMatching(
        /^migration 003-bad of ussd failed and the database was left as it was: .*nowhere/,
      ),
    });
    expect(await fixture.tables()).toEqual(['one', 'palaver_migration']);
    await fixture.store.migrate('ussd', [one, two]);
    expect(await fixture.tables()).toEqual(['one', 'palaver_migration', 'two']);
  });

  test('the database of a newer version serves unless a step is breaking', async () => {
    await using fixture = await setUp();
    await fixture.store.migrate('ussd', [one, two]);
    await fixture.store.migrate('ussd', [one]);
    await fixture.store.migrate('ussd', [one, two, { ...three, breaking: true }]);
    await expect(fixture.store.migrate('ussd', [one])).rejects.toMatchObject({
      kind: 'newer',
      message: expect.stringContaining('003-three'),
    });
    expect(await fixture.tables()).toEqual(['one', 'palaver_migration', 'three', 'two']);
  });

  test('a start that may not migrate says what is missing, and starts once it is there', async () => {
    await using fixture = await setUp();
    const careful = await openStore<unknown>(fixture.url, { migrations: 'check' });
    await expect(careful.migrate('ussd', [one])).rejects.toThrow('lacks migration 001-one of ussd');
    await fixture.store.migrate('ussd', [one]);
    await careful.migrate('ussd', [one]);
    await expect(careful.migrate('ussd', [one, two])).rejects.toThrow(/002-two of ussd .* palaver migrate/);
    await careful.close();
    expect(await fixture.tables()).toEqual(['one', 'palaver_migration']);
  });

  test('an index is built while others write, and again after it failed half-way', async () => {
    await using fixture = await setUp();
    const { store } = fixture;
    const index: Migration = {
      name: '002-index',
      concurrent: true,
      up: (db, on) => createIndex(db, on, { name: 'one_id', on: 'one (id)' }),
    };
    await store.migrate('ussd', [one]);
    if (engine === 'postgres') {
      // A duplicate makes a unique index fail half-way: what is left is not valid.
      await sql`insert into one values ('x'), ('x')`.execute(store.db);
      await expect(sql`create unique index concurrently one_id on one (id)`.execute(store.db)).rejects.toThrow();
    }
    await Promise.all([store.migrate('ussd', [one, index]), store.migrate('ussd', [one, index, three])]);
    const found =
      engine === 'postgres'
        ? sql`select 1 from pg_index where indexrelid = 'one_id'::regclass and indisvalid`
        : sql`select 1 from sqlite_schema where name = 'one_id'`;
    expect((await found.execute(store.db)).rows).toHaveLength(1);
    expect(await fixture.tables()).toEqual(['one', 'palaver_migration', 'three']);
  });

  test('texts of new columns are compared by the byte', async () => {
    await using fixture = await setUp();
    const column: Migration = {
      name: '004-column',
      up: async (db) => void (await sql`alter table one add column name varchar(40)`.execute(db)),
    };
    await fixture.store.migrate('ussd', [one]);
    await fixture.store.migrate('ussd', [one, two, column]);
    const { db } = fixture.store;
    const texts = ['a:b', 'a;', 'a-b', 'ab', 'B', 'é', '_', ''];
    for (const text of texts) {
      await sql`insert into one (id, name) values (${text}, ${text})`.execute(db);
      await sql`insert into two (id) values (${text})`.execute(db);
    }
    const sorted = texts.toSorted();
    for (const [table, column] of [
      ['one', 'id'],
      ['one', 'name'],
      ['two', 'id'],
    ] as const) {
      const { rows } = await sql<{ text: string }>`
        select ${sql.ref(column)} as text from ${sql.table(table)} order by 1`.execute(db);
      expect(rows.map(({ text }) => text)).toEqual(sorted);
    }
    const { rows } = await sql`select id from one where id >= 'a:' and id < 'a;'`.execute(db);
    expect(rows).toEqual([{ id: 'a:b' }]);
  });

  test('a list out of order, or one with a step slipped in before an applied one, is refused', async () => {
    await using fixture = await setUp();
    await expect(fixture.store.migrate('ussd', [two, one])).rejects.toThrow('001-one of ussd is listed after 002-two');
    await expect(fixture.store.migrate('ussd', [one, one])).rejects.toThrow('listed after');
    await fixture.store.migrate('ussd', [one, three]);
    await expect(fixture.store.migrate('ussd', [one, two, three])).rejects.toThrow('already applied');
    expect(await fixture.tables()).toEqual(['one', 'palaver_migration', 'three']);
  });

  test('instances that start together apply each step once', async () => {
    await using database = await createTestDatabase(engine);
    await using dir = await createTempDir();
    const startFile = join(dir.path, 'start');
    const script = fileURLToPath(new URL('../test/migrate-main.ts', import.meta.url));
    const instances = Array.from({ length: 4 }, () =>
      startProcess(process.execPath, [script, database.url, startFile]),
    );
    await Promise.all(instances.map((instance) => instance.printed('ready')));
    await writeFile(startFile, '');
    const codes = await Promise.all(instances.map(({ exited }) => exited));
    expect(codes, instances.map((instance) => instance.output()).join('\n')).toEqual([0, 0, 0, 0]);
    const store = await openStore<{ step: { name: string } }>(database.url);
    const steps = await store.db.selectFrom('step').selectAll().execute();
    await store.close();
    expect(steps).toHaveLength(20);
  });
});
