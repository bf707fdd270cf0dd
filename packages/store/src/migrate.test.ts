import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempDir, createTestDatabase, engines, startProcess } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { type Migration, openStore } from './index.ts';

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

  test('the engine is told to each migration', async () => {
    await using fixture = await setUp();
    const told: string[] = [];
    await fixture.store.migrate('ussd', [{ name: '001', up: async (_db, name) => void told.push(name) }]);
    expect(told).toEqual([engine]);
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

  test('a database of a newer version is refused and not touched', async () => {
    await using fixture = await setUp();
    await fixture.store.migrate('ussd', [one, two]);
    await expect(fixture.store.migrate('ussd', [one])).rejects.toMatchObject({
      kind: 'newer',
      message: expect.stringContaining('002-two'),
    });
    await expect(fixture.store.migrate('ussd', [one, three])).rejects.toMatchObject({ kind: 'newer' });
    expect(await fixture.tables()).toEqual(['one', 'palaver_migration', 'two']);
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
