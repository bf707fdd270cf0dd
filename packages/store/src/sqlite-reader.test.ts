import { renameSync } from 'node:fs';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { createTestDatabase } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { openStore } from './open-store.ts';
import { readPieces } from './read-pieces.ts';
import type { StoreOptions } from './store.ts';

interface Tables {
  goat: { id: number; name: string };
}

/** Counts to a number by SQLite alone. */
const countTo = (most: number) =>
  sql<{
    n: number;
  }>`with recursive c (n) as (select 1 union all select n + 1 from c where n < ${most}) select max(n) as n from c`;

async function open(options?: StoreOptions) {
  const database = await createTestDatabase('sqlite');
  const store = await openStore<Tables>(database.url, options);
  await sql`create table goat (id integer primary key, name text not null)`.execute(store.db);
  return {
    store,
    path: database.url.replace(/^file:/, ''),
    async [Symbol.asyncDispose]() {
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

test('a report that reads for long holds up nothing, and sees what was committed before', async () => {
  await using opened = await open({ statementTimeoutMs: 600_000 });
  const { db, readDb } = opened.store;
  let isRead = false;
  const report = countTo(3_000_000)
    .execute(readDb)
    .finally(() => {
      isRead = true;
    });
  let written = 0;
  for (; !isRead; written++) {
    await db.insertInto('goat').values({ id: written, name: 'Ada' }).execute();
    await letOthersRun();
  }
  expect(written).toBeGreaterThan(10);
  expect((await report).rows).toEqual([{ n: 3_000_000 }]);
  expect(await readDb.selectFrom('goat').select('id').execute()).toHaveLength(written);
});

test('reports cannot write, have no transactions, and their faults are those of the database', async () => {
  await using opened = await open();
  const { readDb } = opened.store;
  await expect(readDb.insertInto('goat').values({ id: 1, name: 'Ada' }).execute()).rejects.toThrow('readonly');
  await expect(readDb.transaction().execute(async () => {})).rejects.toThrow('without a transaction');
  await expect(sql`select * from sheep`.execute(readDb)).rejects.toMatchObject({ errcode: 1 });
  expect(await readDb.selectFrom('goat').selectAll().execute()).toEqual([]);
});

test('a report that takes too long is ended, and the next one is read', async () => {
  await using opened = await open({ statementTimeoutMs: 1_000 });
  const { readDb } = opened.store;
  const replies = await Promise.allSettled([countTo(1e12).execute(readDb), countTo(5).execute(readDb)]);
  expect(replies).toMatchObject([{ reason: { kind: 'overloaded' } }, { value: { rows: [{ n: 5 }] } }]);
});

test('reports are not read from a file that took the place of the database', async () => {
  await using opened = await open();
  await using other = await open();
  renameSync(other.path, opened.path);
  await expect(opened.store.readDb.selectFrom('goat').selectAll().execute()).rejects.toThrow('removed or replaced');
});

test('pieces have every row once, and let others run between them', async () => {
  const rows = Array.from({ length: 950 }, (_, id) => ({ id }));
  const load = async (after: { id: number } | undefined, limit: number) =>
    rows.filter(({ id }) => id > (after?.id ?? -1)).slice(0, limit);
  let turns = 0;
  let isRead = false;
  const count = async () => {
    for (; !isRead; turns++) await letOthersRun();
  };
  const counting = count();
  const read: number[] = [];
  for await (const piece of readPieces(load, { size: 100 })) read.push(...piece.map(({ id }) => id));
  isRead = true;
  await counting;
  expect(read).toEqual(rows.map(({ id }) => id));
  expect(turns).toBeGreaterThanOrEqual(9);
});
