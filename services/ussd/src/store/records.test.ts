import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrateUssd } from './migrations.ts';
import { createRecordStore, createReports } from './records.ts';
import { createRows } from './rows.ts';
import type { UssdTables } from './tables.ts';

const phone = '+254700000001';

test.each(engines)('an export holds each report once, also when more are filed meanwhile: %s', async (engine) => {
  await using database = await createTestDatabase(engine);
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const reports = createReports(createRecordStore(store));
  const file = (now: number) =>
    store.transaction((trx) => reports.file(trx, { phone, type: 'trees', amount: '1', unit: null, now }));
  // Several of each moment, so that pieces end between reports of the same time.
  const filed = await store.transaction(async (trx) => {
    const references: string[] = [];
    for (let i = 0; i < 2_500; i++) {
      const report = { phone, type: 'trees', amount: '1', unit: null, now: Math.floor(i / 7) };
      references.push(await reports.file(trx, report));
    }
    return references;
  });
  const exported: string[] = [];
  for await (const piece of createRows(store).pieces('records', { program: 'palaver', name: 'report' })) {
    exported.push(...piece.map(({ id }) => id));
    await file(10_000);
  }
  expect(exported).toHaveLength(2_500);
  expect(new Set(exported)).toEqual(new Set(filed));
  await store.close();
});

test('on SQLite what a caller has kept is found by the caller, not among the records of everyone', async () => {
  await using database = await createTestDatabase('sqlite');
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const { rows } = await sql<{ detail: string }>`explain query plan select * from ussd_record
    where program = 'palaver' and kind = 'report' and phone = ${phone} order by created_at desc, id limit 10`.execute(
    store.db,
  );
  expect(rows[0]?.detail).toContain('ussd_record_phone (phone=? AND program=? AND kind=?)');
  await store.close();
});
