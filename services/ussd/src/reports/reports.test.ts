import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';
import { createReports } from './reports.ts';

const phone = '+254700000001';

test.each(engines)('an export holds each report once, also when more are filed meanwhile: %s', async (engine) => {
  await using database = await createTestDatabase(engine);
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const account = {
    id: 'a',
    phone,
    name: 'Ana',
    pin: '',
    address: null,
    failed: 0,
    locks: 0,
    locked_until: null,
    failed_total: 0,
    did: null,
    link_tries: 0,
    link_tried_at: 0,
  };
  await store.db
    .insertInto('ussd_account')
    .values({ ...account, created_at: 0 })
    .execute();
  const reports = createReports(store);
  const file = (now: number) =>
    store.transaction((trx) =>
      reports.file(trx, { accountId: 'a', phone, activity: 'trees', amount: '1', unit: null, now }),
    );
  // Several of each moment, so that pieces end between reports of the same time.
  const filed = await store.transaction(async (trx) => {
    const references: string[] = [];
    for (let i = 0; i < 2_500; i++) {
      const report = { accountId: 'a', phone, activity: 'trees', amount: '1', unit: null, now: Math.floor(i / 7) };
      references.push(await reports.file(trx, report));
    }
    return references;
  });
  const exported: string[] = [];
  for await (const piece of reports.listAll()) {
    exported.push(...piece.map(({ reference }) => reference));
    await file(10_000);
  }
  expect(exported).toHaveLength(2_500);
  expect(new Set(exported)).toEqual(new Set(filed));
  await store.close();
});
