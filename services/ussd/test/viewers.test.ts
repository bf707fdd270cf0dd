// What operators with the role viewer see of callers' numbers, on every route that lists what callers left behind.
import { addOperator } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTempDir, engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { phoneNumber, register, startService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const number = phoneNumber.slice(1);
const at = Date.parse('2026-11-17T10:00:00Z');

async function fill(databaseUrl: string): Promise<void> {
  const store = await openStore<UssdTables>(databaseUrl);
  const record = { program: 'market', kind: 'order', phone: phoneNumber };
  const newer = Array.from({ length: 1_000 }, (_, i) => ({
    ...record,
    id: `new${String(i).padStart(4, '0')}`,
    fields: JSON.stringify({ crop: 'maize' }),
    created_at: at + 1_000 + i,
  }));
  const fields = JSON.stringify({ crop: 'beans', member: number, contact: Number(number) });
  const older = { ...record, id: 'old', fields, created_at: at };
  for (let i = 0; i < newer.length; i += 100)
    await store.db
      .insertInto('ussd_record')
      .values(newer.slice(i, i + 100))
      .execute();
  await store.db.insertInto('ussd_record').values(older).execute();
  const sending = { attempts: 0, next_at: null, fault: null, lease_until: 0 };
  const outbox = { program: 'market', phone: phoneNumber, created_at: at, ...sending };
  await store.db
    .insertInto('ussd_submission')
    .values({
      ...outbox,
      id: 'uuid:1',
      form_id: 'visit',
      form_version: '1',
      answers: JSON.stringify({ phone: phoneNumber }),
      xml: `<data id="visit"><phone>${phoneNumber}</phone></data>`,
      status: 'stored',
    })
    .execute();
  await store.db
    .insertInto('ussd_sms')
    .values({ ...outbox, id: 'sms1', caller: phoneNumber, body: 'Thank you', status: 'sent' })
    .execute();
  await store.close();
}

const routes = [
  '/api/ussd/records/market/order?offset=990',
  '/api/ussd/records/market/order?format=csv',
  '/api/ussd/records/market/order?format=spreadsheet',
  '/api/ussd/submissions',
  '/api/ussd/submissions?format=csv',
  '/api/ussd/submissions?format=xml',
  '/api/ussd/submissions/uuid:1',
  '/api/ussd/sms',
  '/api/ussd/programs/market/results/records/order?offset=990',
  '/api/ussd/programs/market/results/records/order/summary',
  '/api/ussd/programs/market/results/forms/visit',
];

test.each(engines)('on %s viewers see masked numbers, operators whole ones, exports all columns', async (engine) => {
  await using dir = await createTempDir();
  const file = `${dir.path}/operators.json`;
  const headersOf = (role: 'viewer' | 'operator') => ({
    authorization: `Bearer ${addOperator(file, { name: role, role })}`,
  });
  const [viewer, operator] = [headersOf('viewer'), headersOf('operator')];
  await using service = await startService(engine, { OPERATORS_FILE: file });
  await fill(service.databaseUrl);
  for (const route of routes) {
    const response = await service.get(route, viewer);
    expect(response.status, route).toBe(200);
    const text = await response.text();
    expect(text, route).toContain('25470000****');
    expect(text, route).not.toContain(number);
    expect(await (await service.get(route, operator)).text(), route).toContain(number);
  }
  // Nor can digits be guessed one by one.
  const order = '/api/ussd/programs/market/results/records/order';
  for (const query of [`search=${number}`, `column=member&value=${number}`]) {
    const count = async (headers: Record<string, string>) =>
      ((await (await service.get(`${order}?${query}`, headers)).json()) as { total: number }).total;
    expect([query, await count(viewer), await count(operator)]).toEqual([query, 0, 1]);
    const summary = await (await service.get(`${order}/summary?${query}`, viewer)).json();
    expect(summary).toMatchObject({ count: 0 });
  }
  const csv = await (await service.get('/api/ussd/records/market/order?format=csv', operator)).text();
  const lines = csv.split('\r\n');
  expect(lines).toHaveLength(1_003);
  expect(lines[0]).toBe('id,phoneNumber,createdAt,crop,member,contact');
  expect(lines[1_001]).toBe(`old,${phoneNumber},2026-11-17T10:00:00.000Z,beans,${number},${number}`);
});

test('viewers see the numbers of reporters and of open sessions masked', async () => {
  await using dir = await createTempDir();
  const file = `${dir.path}/operators.json`;
  const viewer = { authorization: `Bearer ${addOperator(file, { name: 'viewer', role: 'viewer' })}` };
  await using service = await startService('sqlite', { OPERATORS_FILE: file });
  await register(service, 'r');
  expect(await service.say('a', '3*4*2.5*4071')).toContain('Reference');
  await service.say('open', '');
  // Some telecom gateways make the number a part of the id.
  await service.say(`${number}-a`, '');
  const sessions = ['/api/ussd/debug/open', '/api/ussd/sessions'];
  for (const route of ['/api/ussd/reports', '/api/ussd/reports?format=csv', ...sessions]) {
    const text = await (await service.get(route, viewer)).text();
    expect(text, route).toContain('25470000****');
    expect(text, route).not.toContain(number);
  }
});

test('viewers see the number masked on the screen that a caller reads', async () => {
  await using dir = await createTempDir();
  const file = `${dir.path}/operators.json`;
  const viewer = { authorization: `Bearer ${addOperator(file, { name: 'viewer', role: 'viewer' })}` };
  await using program = await writeProgram({
    'program.yaml': `name: own
codes: ["*384*9#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: own.home, options: [{ text: own.who, to: who }] }
  who: { kind: set, values: { who: caller.phone }, to: shown }
  shown: { kind: page, text: own.shown }
`,
    'locales/en.yaml': "own: { home: Home, who: Who am I?, shown: 'You are {who}.' }\n",
  });
  await using service = await startService('sqlite', { OPERATORS_FILE: file, USSD_PROGRAMS: program.path });
  expect(await service.say('own', '1', { serviceCode: '*384*9#' })).toContain(number);
  const text = await (await service.get('/api/ussd/debug/own', viewer)).text();
  expect(text).toContain('You are +25470000****.');
  expect(text).not.toContain(number);
});

test('viewers see no number in whatever way it is written, nor find one out by the audit log', async () => {
  await using dir = await createTempDir();
  const file = `${dir.path}/operators.json`;
  const headersOf = (role: 'viewer' | 'operator') => ({
    authorization: `Bearer ${addOperator(file, { name: role, role })}`,
  });
  const [viewer, operator] = [headersOf('viewer'), headersOf('operator')];
  await using service = await startService('sqlite', { OPERATORS_FILE: file });
  const written = {
    national: '0700000001',
    blanks: '0700 000 001',
    international: '+254 700 000 001',
    dashes: '(0)700-000-001, call me',
    zeros: '00254700000001',
    number: 700000001,
    arabic: '٠٧٠٠٠٠٠٠٠١',
    other: '+254 711 222 333',
    neighbour: 'ask 0711 222333',
    nested: ['0700.000.001'],
    bare: '254711222333',
    dots: '254.711.222.333',
    slashes: '0711/222/333',
    zerosOther: '00 254 711 222 333',
    arabicOther: '٢٥٤٧١١٢٢٢٣٣٣',
    other9: 711222333,
    '+254711222333': 'as a name',
    '0700000001': 'own as a name',
    price: '0.123456789',
    day: '2026-01-02',
  };
  const store = await openStore<UssdTables>(service.databaseUrl);
  const record = { program: 'market', kind: 'order', phone: phoneNumber, id: 'one', created_at: at };
  await store.db
    .insertInto('ussd_record')
    .values({ ...record, fields: JSON.stringify(written) })
    .execute();
  await store.close();
  const list = '/api/ussd/records/market/order';
  const text = await (await service.get(list, viewer)).text();
  const digits = text.replace(/[^\p{N}]/gu, '');
  for (const part of ['0000001', '٠٠٠٠٠٠١', '222333', '٢٢٢٣٣٣']) expect(digits).not.toContain(part);
  expect(text).toContain('0.123456789');
  expect(text).toContain('2026-01-02');
  expect(await (await service.get(list, operator)).text()).toContain('0700 000 001');

  await register(service, 'r');
  await service.say('a', '3*4*2.5*4071');
  const audit = async (query: string, headers: Record<string, string>) => {
    const response = await service.get(`/api/ussd/audit${query}`, headers);
    return { status: response.status, text: await response.text() };
  };
  const subject = `?subject=${encodeURIComponent(phoneNumber)}`;
  expect((await audit(subject, viewer)).status).toBe(403);
  expect((await audit(subject, operator)).text).toContain('report.filed');
  const reference = /"reference":"(\w{9})"/.exec(await (await service.get('/api/ussd/reports', viewer)).text())?.[1];
  expect((await audit('', operator)).text).toContain(reference);
  for (const format of ['', '?format=csv']) {
    const seen = await audit(format, viewer);
    expect(seen.text).toContain('report.filed');
    expect(seen.text).not.toContain(reference);
  }
});

test('viewers cannot compare a guess with the references of the audit log', async () => {
  await using dir = await createTempDir();
  const file = `${dir.path}/operators.json`;
  const headersOf = (role: 'viewer' | 'operator') => ({
    authorization: `Bearer ${addOperator(file, { name: role, role })}`,
  });
  const [viewer, operator] = [headersOf('viewer'), headersOf('operator')];
  await using service = await startService('sqlite', { OPERATORS_FILE: file });
  await register(service, 'r');
  const read = async (path: string, headers: Record<string, string>) => {
    const response = await service.get(path, headers);
    return { status: response.status, text: await response.text() };
  };
  const spellings = [phoneNumber, number, `00${number}`, '0700000001', '+254%20700%20000%20001', '%2B254700000001'];
  for (const guess of spellings) {
    await read(`/api/ussd/debug/${guess}`, viewer);
    await read(`/api/ussd/submissions/${guess}`, viewer);
    await read(`/api/ussd/records/${guess}/${guess}`, viewer);
  }
  const registered = await read('/api/ussd/audit?action=account.registered', operator);
  const reference = /"subject":"(person:\w+)"/.exec(registered.text)?.[1];
  expect(reference).toBeDefined();
  const reads = await read('/api/ussd/audit?action=operator.read', operator);
  expect(reads.text).toContain('/api/ussd/debug/:sessionId');
  expect(reads.text).not.toMatch(/person:|0000001|000 001/);
  for (const format of ['', '?format=csv']) {
    const { text } = await read(`/api/ussd/audit${format}`, viewer);
    expect(text).toContain('account.registered');
    expect(text).not.toContain('person:');
  }
  for (const query of [`subject=${reference}`, `actor=${reference}`, `subject=${number}`, 'subject=0700%20000%20001'])
    expect((await read(`/api/ussd/audit?${query}`, viewer)).status, query).toBe(403);
  expect((await read(`/api/ussd/audit?subject=${reference}`, operator)).text).toContain('account.registered');
});
