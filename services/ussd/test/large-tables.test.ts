// What operators read of large tables takes nothing from callers: on SQLite both are in one process, on PostgreSQL on one server.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { addOperator } from '@palaver/service-kit/internal';
import { createTempDir } from '@palaver/test-kit';
import pg from 'pg';
import { expect, test } from 'vitest';
import { pressUntil, startService, type TestService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const records = 30_000;
const results = '/api/ussd/programs/savings/results/records/deposit';

function fill({ databaseUrl }: TestService, { rows = records, note = 'a note of a few words '.repeat(10) } = {}): void {
  const database = new DatabaseSync(databaseUrl.replace(/^file:/, ''));
  database.exec('begin');
  const insert = database.prepare(
    "insert into ussd_record (id, program, kind, phone, fields, created_at) values (?, 'savings', 'deposit', ?, ?, ?)",
  );
  for (let i = 0; i < rows; i++)
    insert.run(
      `r${String(i).padStart(6, '0')}`,
      '+254700000001',
      JSON.stringify({ amount: i, note }),
      1_000 + (i >> 3),
    );
  database.exec('commit');
  database.close();
}

const count = (text: string) => text.split('\n').length - 1;

test('callers press keys while results are searched, counted and exported', async () => {
  await using service = await startService('sqlite');
  fill(service);
  const read = async (path: string) => {
    const response = await service.get(path);
    const body = await response.text();
    if (response.status !== 200) throw new Error(`status ${response.status}: ${body}`);
    return body;
  };
  const search = read(`${results}?search=nowhere`);
  const pressed = [await pressUntil(service, search)];
  expect(JSON.parse(await search)).toMatchObject({ total: 0, isPartial: true });
  const summary = read(`${results}/summary`);
  pressed.push(await pressUntil(service, summary));
  expect(JSON.parse(await summary)).toMatchObject({ count: 20_000, isPartial: true });
  const csv = read(`${results}/export`);
  pressed.push(await pressUntil(service, csv));
  expect(count(await csv)).toBe(records + 1);
  expect(new Set((await csv).match(/^r\d{6}/gm)).size).toBe(records);
  for (const answered of pressed) expect(answered).toBeGreaterThan(10);
});

test('searches wait for each other, and files beyond a few are refused', async () => {
  await using service = await startService('sqlite');
  fill(service);
  const searches = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => (await service.get(`${results}?search=nowhere${i}`)).status),
  );
  expect(searches.filter((status) => status === 200)).toHaveLength(22);
  expect(searches.filter((status) => status === 429)).toHaveLength(8);
  const exports = await Promise.all(Array.from({ length: 6 }, () => service.get(`${results}/export`)));
  expect(exports.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 429, 429]);
  await Promise.all(exports.map((response) => response.body?.cancel()));
  // What is no longer read is no longer written.
  await expect.poll(async () => (await service.get(`${results}/export`)).status).toBe(200);
});

test('callers press keys while viewers read pages of long answers', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'operators.json');
  const token = addOperator(file, { name: 'vera', role: 'viewer' });
  await using service = await startService('sqlite', { OPERATORS_FILE: file });
  fill(service, { rows: 100, note: '1 2 '.repeat(10_000) });
  for (const path of [
    '/api/ussd/records/savings/deposit?limit=100',
    `${results}?limit=100`,
    `${results}?search=nowhere`,
  ]) {
    const pages = Promise.all(
      Array.from({ length: 4 }, async () => {
        const response = await service.get(path, { authorization: `Bearer ${token}` });
        await response.body?.cancel();
        return response.status;
      }),
    );
    expect([path, await pressUntil(service, pages)]).toEqual([path, expect.toSatisfy((count) => count > 30)]);
    expect(await pages).toEqual([200, 200, 200, 200]);
  }
});

const checked = {
  'program.yaml': `
name: savings
codes: ["*384*42#"]
extends: palaver
languages: [en]
start: home
records: { deposit: { amount: decimal, note: text } }
states:
  home: { kind: menu, text: home, options: [{ text: go, to: put }] }
  put:
    kind: action
    store: deposit
    fields: { amount: 1 }
    check: { of: everyone, save: { all: sum(amount) }, that: all < 0 }
    outcomes: { stored: none, refused: none }
  none: { kind: page, text: none }
`,
  'locales/en.yaml': "home: Home\ngo: Go\nnone: 'None, {all}.'\n",
};

test.each([
  [12_000, /^CON None, 71994000\./],
  [21_000, /^END /],
])('callers press keys while a check of a program reads %i records of everyone', async (rows, reply) => {
  await using dir = await writeProgram(checked);
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  fill(service, { rows, note: 'a note' });
  const serviceCode = '*384*42#';
  const check = service.say('check', '1', { serviceCode, phoneNumber: '+254700000002' });
  const pressed = await pressUntil(service, check, { text: '', serviceCode });
  expect(await check).toMatch(reply);
  if (rows < 20_000) expect(pressed).toBeGreaterThan(10);
});

async function connect({ databaseUrl }: TestService): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  return client.on('error', () => {});
}

test('on PostgreSQL callers press keys while lists wait for the database', async () => {
  await using service = await startService('postgres');
  const [client, watching] = [await connect(service), await connect(service)];
  await client.query('begin; lock table ussd_record, ussd_sms in access exclusive mode');
  const lists = ['/api/ussd/records/savings/deposit', '/api/ussd/sms', results].flatMap((path) =>
    Array.from({ length: 12 }, () => service.get(path).then(({ status }) => status)),
  );
  const waiting = `select count(*)::int as count from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`;
  await expect.poll(async () => (await watching.query(waiting)).rows[0].count, { timeout: 10_000 }).toBeGreaterThan(2);
  for (const text of ['', '1', '1*0', '1*0*1']) expect(await service.say('caller', text)).toMatch(/^CON /);
  await client.query('rollback');
  await client.end();
  await watching.end();
  for (const status of await Promise.all(lists)) expect([200, 503]).toContain(status);
});

test('of many open sessions the oldest thousand are listed, and all are counted', async () => {
  await using service = await startService('postgres');
  const client = await connect(service);
  await client.query(
    `insert into ussd_session select 'many' || i, '+254700000001', '*1#', 1, 1, '', 0, '{"language":"en"}',
    '{"f":1,"s":"preMenu","l":"en"}', 'CON x', $1::bigint + i, $1 from generate_series(1, 1200) as i`,
    [Date.now()],
  );
  await client.end();
  const listed = await (await service.get('/api/ussd/sessions')).json();
  const { activeSessions, count } = listed as { activeSessions: string[]; count: number };
  expect([count, activeSessions.length, activeSessions[0]]).toEqual([1_200, 1_000, 'many1']);
});
