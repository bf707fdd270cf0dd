import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createSubmissions, toSubmission } from '../outgoing/submissions.ts';
import { migrateUssd } from '../store/migrations.ts';
import { createRows } from '../store/rows.ts';
import type { UssdTables } from '../store/tables.ts';
import { mapPieces, submissionCsv, toCsv } from './show-rows.ts';

const count = 1_200;

test.each(engines)('on %s an export has each submission once, whatever is added or sent meanwhile', async (engine) => {
  await using database = await createTestDatabase(engine);
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const submissions = createSubmissions(store, { isSent: true });
  const add = (ids: string[], now: number) =>
    store.transaction(async (trx) => {
      const form = { formId: 'visit', version: '1', xml: '<data/>', answers: {}, values: {} };
      for (const instanceId of ids)
        await submissions.insert(trx, { ...form, instanceId, program: 'p', phone: '+254700000001', now });
    });
  const ids = Array.from({ length: count }, (_, i) => `uuid:${String(i).padStart(4, '0')}`);
  // Half of them at the same millisecond.
  for (let i = 0; i < count; i += 100) await add(ids.slice(i, i + 100), 1_000 + (i < count / 2 ? 0 : i));
  const exported: string[] = [];
  const all = () => mapPieces(createRows(store).pieces('forms', { status: 'queued' }), toSubmission);
  for await (const lines of toCsv(all, submissionCsv)) {
    const piece = lines.split('\r\n').flatMap((line) => /^uuid:\d+/.exec(line)?.[0] ?? []);
    exported.push(...piece);
    if (piece.length === 0) continue;
    await add([`uuid:9${exported.length}`], 9_000 + exported.length);
    await store.db.updateTable('ussd_submission').set({ status: 'sent' }).where('id', 'in', piece).execute();
  }
  expect(exported.sort()).toEqual(ids);
  await store.close();
});
