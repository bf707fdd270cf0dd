// No statement of a request or of regular work reads a table that grows from end to end.
import { openStore } from '@palaver/store';
import { engines, fillTables, listScans, recordStatements, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { register, startService } from './service-fixture.ts';

/** Tables that stay small, and why. */
const small: Record<string, string> = {
  ussd_program: 'a row for each program',
  ussd_program_version: 'rows that operators publish',
  ussd_address_change: 'what waits for a second admin',
};

/** Totals over all programs have no counters: they count every row. */
const totals = /count\(\*\) as count from "ussd_(record|submission)"\s+where 1 = 1 group by/;

const values: Record<string, string> = {
  program: "'p' || n % 50",
  kind: "'k' || n % 5",
  form_id: "'f' || n % 50",
  status: "'sent'",
  'ussd_session.status': 'case when n <= 100 then 1 else 0 end',
  fields: "'{}'",
  answers: "'{}'",
  day: `${Math.floor(Date.now() / 86_400_000)} - n % 400`,
};
const isFilled = (table: string) => table.startsWith('ussd_') && !(table in small) && !/_(state|lease)$/.test(table);

const program = '/api/ussd/programs/p1';
const reads = [
  ...['sessions', 'reports', 'records', 'records/p1/k1', 'sms', 'submissions', 'submissions?form=f1', 'programs'],
  ...['callers', 'claims', 'address-changes', 'submissions/x1', 'debug/s', 'users/%2B254700000001/export'],
].map((path) => `/api/ussd/${path}`);
const results = ['records/k1', 'forms/f1', 'messages/sms'].flatMap((set) =>
  ['', '?status=sent', '?search=a', '?from=2026-01-01', '/summary', '/export'].map(
    (rest) => `${program}/results/${set}${rest}`,
  ),
);
const paths = [...reads, `${program}/results`, `${program}/stats`, `${program}/versions`, ...results, '/metrics'];

test.each(engines)('%s: no statement reads a table that grows from end to end', async (engine) => {
  await using service = await startService(engine);
  if (engine === 'postgres') await fillTables(service.databaseUrl, { isFilled, values, rows: 20_000 });
  using recorded = recordStatements();
  await using other = await service.startAnother();
  await register(other, 'r');
  await other.say('s', '');
  for (const path of paths) {
    const response = await other.get(path);
    await response.text();
    if (response.status >= 500) throw new Error(`${path}: ${response.status}`);
  }
  const texts = () => [...recorded.statements.keys()];
  await waitFor('a whole sweep', () => texts().some((text) => text.startsWith('delete from "ussd_profile"')), 20_000);
  const findScans = async () =>
    (await listScans(service.databaseUrl, recorded.statements)).filter(
      ({ table, statement }) => table.startsWith('ussd_') && !(table in small) && !totals.test(statement),
    );
  expect(await findScans()).toEqual([]);

  const store = await openStore(service.databaseUrl);
  for (const index of ['asked', 'phone']) await sql`drop index ${sql.ref(`ussd_question_${index}`)}`.execute(store.db);
  await store.close();
  expect(await findScans()).toContainEqual(expect.objectContaining({ table: 'ussd_question' }));
});
