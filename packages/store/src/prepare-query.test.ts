import { createTestDatabase } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { openStore } from './index.ts';
import { runForEach } from './prepare-query.ts';

test('runs a statement for each row, says what each changed, and leaves nothing where one fails', async () => {
  await using database = await createTestDatabase('sqlite');
  const store = await openStore<{ goat: { name: string; age: number } }>(database.url);
  await sql`create table goat (name text primary key, age integer not null)`.execute(store.db);
  const write = (...rows: [string, number | null][]) =>
    store.transaction((trx) =>
      runForEach(
        trx,
        'insert into goat values (?, ?) on conflict (name) do update set age = excluded.age where goat.age < excluded.age',
        rows,
      ),
    );
  expect(await write()).toEqual([]);
  expect(await write(['Zuri', 1], ['Pili', 4], ['Zuri', 2], ['Pili', 3])).toEqual([1, 1, 1, 0]);
  await expect(write(['Zuri', 9], ['Juma', null])).rejects.toThrow('NOT NULL');
  expect(await store.db.selectFrom('goat').selectAll().orderBy('name').execute()).toEqual([
    { name: 'Pili', age: 4 },
    { name: 'Zuri', age: 2 },
  ]);
  await store.close();
});
