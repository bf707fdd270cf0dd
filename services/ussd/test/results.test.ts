// What programs have collected: looked through with masked numbers, counted for charts, exported by operators with a line in the audit.
import type { AuditLine, ListedSet, ResultSummary } from '@palaver/contract/internal';
import { addOperator } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTempDir, engines } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Result, ResultPage } from '../src/operators/results.ts';
import { startService, type TestService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const program = {
  'program.yaml': `name: market
codes: ["*384*9#"]
extends: palaver
languages: [en]
start: home
records:
  order: { crop: text, bags: integer }
states:
  home: { kind: menu, text: t.home, options: [{ text: t.order, to: crop }] }
  crop: { kind: prompt, text: t.crop, type: text, save: crop, to: bags }
  bags: { kind: prompt, text: t.bags, type: integer, min: 1, max: 99, save: bags, to: keep }
  keep: { kind: action, store: order, fields: { crop: crop, bags: bags }, outcomes: { stored: tell } }
  tell: { kind: action, sms: { text: t.thanks }, outcomes: { queued: done, refused: done } }
  done: { kind: end, text: t.thanks }
`,
  'locales/en.yaml': 't: { home: Market, order: Order, crop: Crop?, bags: Bags?, thanks: Thank you }\n',
};

const orders = [
  ['maize', '5'],
  ['beans', '12'],
  ['=HYPERLINK("http://x")', '30'],
  ['maize', '7'],
] as const;

async function fill(service: TestService): Promise<void> {
  for (const [i, [crop, bags]] of orders.entries())
    expect(
      await service.say(`o${i}`, `1*${crop}*${bags}`, {
        serviceCode: '*384*9#',
        phoneNumber: `+25470000090${i}`,
      }),
    ).toMatch(/^END Thank you/);
}

const path = '/api/ussd/programs/market/results';
const load = async <Answer>(service: TestService, query: string) =>
  (await service.get(`${path}${query}`)).json() as Promise<Answer>;
type View = ResultPage & { results: (Result & { caller: string; maskedNumber: string })[] };

describe.each(engines)('on %s', (engine) => {
  test('results are listed with filters and masked numbers, counted by question, and exported safely', async () => {
    await using dir = await writeProgram(program);
    await using service = await startService(engine, {
      USSD_PROGRAMS: dir.path,
      DATA_ENCRYPTION_KEY: 'cd'.repeat(32),
    });
    await fill(service);
    const { sets } = await load<{ sets: ListedSet[] }>(service, '');
    expect(sets).toMatchObject([
      { source: 'records', name: 'order', count: 4, statuses: {} },
      { source: 'messages', name: 'sms', count: 4 },
    ]);
    const page = await load<View>(service, '/records/order?limit=3');
    expect(page).toMatchObject({ total: 4, isPartial: false });
    expect(page.results.map(({ values }) => values.bags)).toEqual(['7', '30', '12']);
    expect(page.results[0]).toMatchObject({ maskedNumber: '+25470000****', values: { crop: 'maize' } });
    expect(JSON.stringify(page)).not.toContain('+254700000903');
    const maize = await load<View>(service, '/records/order?column=crop&value=maize&limit=1&offset=1');
    expect(maize).toMatchObject({ total: 2, results: [{ values: { bags: '5' } }] });
    expect(await load<View>(service, '/records/order?search=BEAN')).toMatchObject({ total: 1 });
    expect(await load<View>(service, '/records/order?to=2020-01-01')).toMatchObject({ total: 0 });
    const summary = await load<ResultSummary>(service, '/records/order/summary');
    expect(summary.count).toBe(4);
    expect(summary.days.reduce((sum, { count }) => sum + count, 0)).toBe(4);
    expect(summary.questions).toMatchObject([
      { name: 'crop', kind: 'choices', answered: 4, values: [{ value: 'maize', count: 2 }, {}, {}] },
      { name: 'bags', kind: 'numbers', answered: 4 },
    ]);
    const messages = await load<View>(service, '/messages/sms');
    expect(messages.results[0]).toMatchObject({ values: {}, delivery: { attempts: expect.any(Number) } });
    expect(JSON.stringify(messages)).not.toContain('Thank you');

    const csv = await (await service.get(`${path}/records/order/export`)).text();
    const lines = csv.split('\r\n');
    expect(lines[0]).toBe('id,phoneNumber,createdAt,crop,bags');
    expect(lines).toHaveLength(6);
    expect(csv).toContain('+254700000903');
    // A spreadsheet shows it and computes nothing.
    expect(lines[2]).toContain(`"'=HYPERLINK(""http://x"")",30`);
    const json = await load<Result[]>(service, '/records/order/export?format=json&column=crop&value=beans');
    expect(json).toMatchObject([{ phoneNumber: '+254700000901', values: { crop: 'beans', bags: '12' } }]);
    const audit = await service.get('/api/ussd/audit?action=results.exported');
    expect(((await audit.json()) as { lines: AuditLine[] }).lines).toMatchObject([
      { subject: 'market', details: { name: 'order', format: 'json', rows: 4 } },
      { subject: 'market', details: { source: 'records', name: 'order', format: 'csv', rows: 4 } },
    ]);
  });
});

test('viewers look, operators export, and wrong filters are refused', async () => {
  await using dir = await createTempDir();
  const file = `${dir.path}/operators.json`;
  const tokenOf = (role: 'viewer' | 'operator') => ({
    authorization: `Bearer ${addOperator(file, { name: role, role })}`,
  });
  const [viewer, operator] = [tokenOf('viewer'), tokenOf('operator')];
  await using service = await startService('sqlite', { OPERATORS_FILE: file });
  const statusOf = async (query: string, headers = {}) => (await service.get(`${path}${query}`, headers)).status;
  expect(await statusOf('')).toBe(401);
  for (const query of ['', '/records/order', '/records/order/summary']) expect(await statusOf(query, viewer)).toBe(200);
  expect(await statusOf('/records/order/export', viewer)).toBe(403);
  expect(await statusOf('/records/order/export', operator)).toBe(200);
  for (const query of ['/other/order', '/records/order?from=today', '/records/order?limit=0', '/forms/x?status=lost'])
    expect(await statusOf(query, operator)).toBe(400);
});

test('many results are not counted again for each look, and an export has all of them', async () => {
  await using service = await startService();
  const store = await openStore(service.databaseUrl);
  const add = (first: number, last: number) =>
    sql`with recursive list(n) as (select ${sql.lit(first)} union all select n + 1 from list where n < ${sql.lit(last)})
      insert into ussd_record (id, program, kind, phone, fields, created_at)
      select 'r' || n, 'market', case when n % 2 = 0 then 'order' else 'offer' end, '+2547', '{}', n from list`.execute(
      store.db,
    );
  const totals = () =>
    Promise.all(['order', 'offer'].map(async (kind) => (await load<View>(service, `/records/${kind}?limit=1`)).total));
  await add(1, 20_000);
  await sql`delete from ussd_record where id = 'r1'`.execute(store.db);
  expect(await totals()).toEqual([10_000, 9_999]);
  await add(20_001, 20_004);
  await store.close();
  expect(await totals()).toEqual([10_000, 10_001]);
  const { results } = await load<View>(service, '/records/order?limit=1');
  expect(results).toMatchObject([{ id: 'r20004' }]);
  const csv = await (await service.get(`${path}/records/order/export`)).text();
  expect(csv.trim().split('\r\n')).toHaveLength(10_003);
});
