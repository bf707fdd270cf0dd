import { fileURLToPath } from 'node:url';
import { createTestDatabase, engines, startProcess, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { GroupWriterOptions } from './group-writer.ts';
import { openStore } from './index.ts';

interface TestDb {
  item: { id: string };
}

describe.each(engines)('group writer on %s', (engine) => {
  async function setUp(options: Partial<GroupWriterOptions<TestDb, string, string>> = {}) {
    const database = await createTestDatabase(engine);
    const store = await openStore<TestDb>(database.url);
    await sql`create table item (id text primary key)`.execute(store.db);
    const batches: string[][] = [];
    const writer = store.createGroupWriter<string, string>({
      async apply(trx, ids) {
        batches.push([...ids]);
        await trx
          .insertInto('item')
          .values(ids.map((id) => ({ id })))
          .execute();
        return ids.map((id) => `wrote ${id}`);
      },
      ...options,
    });
    return {
      store,
      writer,
      batches,
      url: database.url,
      ids: async () => (await store.db.selectFrom('item').select('id').execute()).map(({ id }) => id).sort(),
      async [Symbol.asyncDispose]() {
        await store.close();
        await database[Symbol.asyncDispose]();
      },
    };
  }

  test('the writes of one tick share a transaction, and each caller gets its own result', async () => {
    await using fixture = await setUp();
    const ids = Array.from({ length: 100 }, (_, index) => `id-${index}`);
    // Also those that other callbacks of the same tick add.
    const late = new Promise<string>((resolve) => process.nextTick(() => resolve(fixture.writer.write('late'))));
    const results = await Promise.all(ids.map((id) => fixture.writer.write(id)));
    expect(results).toEqual(ids.map((id) => `wrote ${id}`));
    expect(await late).toBe('wrote late');
    expect(fixture.batches).toEqual([[...ids, 'late']]);
    expect(await fixture.ids()).toHaveLength(101);
  });

  test('what piles up during a commit goes into the next one, in order', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const seen: string[][] = [];
    await using fixture = await setUp({
      async apply(_trx, ids) {
        seen.push([...ids]);
        if (ids.includes('first')) await held;
        return ids;
      },
    });
    const first = fixture.writer.write('first');
    await waitFor('the first batch', () => seen.length === 1);
    const rest = ['b', 'c', 'a'].map((id) => fixture.writer.write(id));
    await new Promise(setImmediate);
    const last = fixture.writer.write('last');
    release();
    await Promise.all([first, ...rest, last]);
    expect(seen).toEqual([['first'], ['b', 'c', 'a', 'last']]);
  });

  test('a write is not confirmed before others can read it', async () => {
    await using fixture = await setUp();
    const other = await openStore<TestDb>(fixture.url);
    await fixture.writer.write('a');
    expect(await other.db.selectFrom('item').selectAll().execute()).toEqual([{ id: 'a' }]);
    await other.close();
  });

  test('a poison item fails alone', async () => {
    await using fixture = await setUp();
    await fixture.writer.write('id-37');
    const ids = Array.from({ length: 100 }, (_, index) => `id-${index}`);
    const settled = await Promise.allSettled(ids.map((id) => fixture.writer.write(id)));
    const failed = settled.flatMap(({ status }, index) => (status === 'rejected' ? [ids[index]] : []));
    expect(failed).toEqual(['id-37']);
    expect(await fixture.ids()).toEqual(ids.toSorted());
    // Found by halving, not by a hundred transactions.
    expect(fixture.batches.length).toBeLessThan(20);
  });

  test('batches stay within their limit', async () => {
    await using fixture = await setUp({ maxBatch: 4 });
    await Promise.all(Array.from({ length: 10 }, (_, index) => fixture.writer.write(String(index))));
    expect(fixture.batches.map((batch) => batch.length)).toEqual([4, 4, 2]);
  });

  test('too many waiting writes are refused', async () => {
    await using fixture = await setUp({ maxPending: 2 });
    const writes = ['a', 'b', 'c'].map((id) => fixture.writer.write(id));
    await expect(writes[2]).rejects.toMatchObject({ kind: 'overloaded' });
    await Promise.all(writes.slice(0, 2));
    expect(await fixture.ids()).toEqual(['a', 'b']);
  });

  test('an apply that returns too few results fails and writes nothing', async () => {
    await using fixture = await setUp({
      async apply(trx, ids) {
        await trx
          .insertInto('item')
          .values(ids.map((id) => ({ id })))
          .execute();
        return [];
      },
    });
    await expect(fixture.writer.write('a')).rejects.toThrow('one result for each item');
    expect(await fixture.ids()).toEqual([]);
  });

  test('idle waits for pending writes; close does too and then refuses', async () => {
    await using fixture = await setUp();
    fixture.writer.write('a');
    await fixture.writer.idle();
    expect(await fixture.ids()).toEqual(['a']);
    const pending = fixture.writer.write('b');
    await fixture.store.close();
    expect(await pending).toBe('wrote b');
    await expect(fixture.writer.write('c')).rejects.toMatchObject({ kind: 'closed' });
  });

  test('what was confirmed survives SIGKILL', async () => {
    await using fixture = await setUp();
    const script = fileURLToPath(new URL('../test/write-main.ts', import.meta.url));
    const child = startProcess(process.execPath, [script, fixture.url]);
    await child.printed(/(ok .*\n){500}/);
    child.kill('SIGKILL');
    expect(await child.exited).toBe('SIGKILL');
    const confirmed = [...child.output().matchAll(/^ok (.*)\n/gm)].map(([, id]) => id);
    const found = new Set(await fixture.ids());
    expect(confirmed.length).toBeGreaterThanOrEqual(500);
    expect(confirmed.filter((id) => !found.has(id ?? ''))).toEqual([]);
  });
});

test('a single statement that met another in a deadlock runs again', async () => {
  await using database = await createTestDatabase('postgres');
  const store = await openStore<TestDb>(database.url);
  let attempts = 0;
  const writer = store.createGroupWriter<string, string>({
    singleStatement: true,
    async apply(db, ids) {
      attempts += 1;
      if (attempts === 1) await sql`do $$ begin raise exception using errcode = '40P01'; end $$`.execute(db);
      return ids;
    },
  });
  expect(await Promise.all(['a', 'b'].map(writer.write))).toEqual(['a', 'b']);
  expect(attempts).toBe(2);
  await store.close();
});
