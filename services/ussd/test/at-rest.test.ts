import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { addOperator } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTempDir, engines, searchDatabase } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { withPersonData } from '../src/commands/database.ts';
import type { UssdTables } from '../src/store/tables.ts';
import { startAgent } from './agent-fixture.ts';
import { startService, type TestService, testKey } from './service-fixture.ts';

const phoneNumber = '+254700000091';
const name = 'Xylozebra';
const address = 'ixo1qqqsyqcyq5rqwzqfpg9scrgwpugpzysn7hzdtn';
const canaries = [phoneNumber, phoneNumber.slice(1), name, address, 'goatquestion'];
const own = { phoneNumber };
const path = `/api/ussd/accounts/${encodeURIComponent(phoneNumber)}/address`;
const json = { 'content-type': 'application/json' };
const key = () => randomBytes(32).toString('hex');

async function leaveTraces(service: TestService): Promise<void> {
  await service.say('r', `2*1*${name}*4071*4071`, own);
  await service.say('p', '3*1*5*4071', own);
  await service.say('w', '2*2*9990', own);
  await service.say('o', '3*1', own);
  const put = await fetch(`${service.url}${path}`, { method: 'PUT', headers: json, body: JSON.stringify({ address }) });
  expect(put.status).toBe(200);
}

/** Everything that is looked up by the phone number, or shows it. */
async function expectWhole(service: TestService): Promise<void> {
  const id = randomBytes(6).toString('hex');
  expect(await service.say(`${id}1`, '', own)).not.toContain('Register');
  expect(await service.say(`${id}2`, '2*2*4071', own)).toContain(name);
  expect(await service.say(`${id}3`, '2*1*Other*4071*4071', own)).not.toMatch(/Welcome, Other/);
  const csv = await (await service.get('/api/ussd/reports?format=csv')).text();
  expect(csv).toContain(phoneNumber);
  const exported = await (await service.get(`/api/ussd/users/${encodeURIComponent(phoneNumber)}/export`)).text();
  for (const wanted of [name, address, phoneNumber]) expect(exported).toContain(wanted);
  expect(await service.say(`${id}4`, '', own)).toMatch(/^CON/);
  const debug = await (await service.get(`/api/ussd/debug/${id}4`)).json();
  expect(debug).toMatchObject({ debugInfo: { context: { phoneNumber } } });
}

describe.each(engines)('what the gateway keeps on %s', (engine) => {
  test('is encrypted where there is a key: numbers, names and answers are nowhere in the database', async () => {
    await using agent = await startAgent();
    await using service = await startService(engine, { DATA_ENCRYPTION_KEY: key() });
    await leaveTraces(service);
    await using asking = await service.startAnother({ AGENT_URL: agent.url });
    expect(await asking.say('q', '4*1*4071*goatquestion', own)).toContain('goatquestion');
    expect(await searchDatabase(service.databaseUrl, canaries)).toEqual([]);
    await expectWhole(service);
    expect(await service.say('o', '3*1*5', { phoneNumber: '+254700000092' })).toMatch(/^END/);
    await using other = await service.startAnother();
    await expectWhole(other);
    expect(await other.say('o', '3*1*5', own)).toMatch(/^CON/);
    expect(await searchDatabase(service.databaseUrl, canaries)).toEqual([]);
    const user = `${service.url}/api/ussd/users/${encodeURIComponent(phoneNumber)}`;
    expect((await fetch(user, { method: 'DELETE' })).status).toBe(200);
    expect(await service.say('again', '2*1*Another*4071*4071', own)).toContain('Another');
  });

  test('of an account that an earlier version wrote in the clear is encrypted by `keys rotate`, and the caller is known again', async () => {
    const DATA_ENCRYPTION_KEY = key();
    await using service = await startService(engine, { DATA_ENCRYPTION_KEY });
    await leaveTraces(service);
    const store = await openStore<UssdTables>(service.databaseUrl);
    // What a wrong PIN left.
    await store.db.updateTable('ussd_account').set({ phone: phoneNumber, name, address }).execute();
    await store.close();
    expect(await service.say('unknown', '2*2', own)).not.toContain('PIN');
    expect(await searchDatabase(service.databaseUrl, canaries)).not.toEqual([]);
    await using dir = await createTempDir();
    const secrets = { DATA_ENCRYPTION_KEY, PIN_ENCRYPTION_KEY: testKey };
    const env = { ...secrets, DATABASE_URL: service.databaseUrl, DATA_DIR: dir.path, LOG_LEVEL: 'silent' };
    const rotate = () => withPersonData(env, (data) => data.encrypt({ actor: 'command', from: null }));
    expect([await rotate(), await rotate()]).toEqual([1, 0]);
    expect(await searchDatabase(service.databaseUrl, canaries)).toEqual([]);
    await expectWhole(service);
  });

  test('from before there was a key keeps its look-ups; other keys do not start', async () => {
    await using plain = await startService(engine);
    await leaveTraces(plain);
    const store = await openStore<UssdTables>(plain.databaseUrl);
    const dialogue = { session_id: 'sms-1', version: 1, sealed: '', kept_until: Date.now() + 60_000 };
    await store.db
      .insertInto('ussd_input')
      .values({ ...dialogue, phone: phoneNumber })
      .execute();
    await store.close();
    expect(await searchDatabase(plain.databaseUrl, canaries)).not.toEqual([]);
    await expectWhole(plain);
    const env = { DATA_ENCRYPTION_KEY: key() };
    const encrypted = await plain.startAnother(env);
    expect(await searchDatabase(plain.databaseUrl, [phoneNumber])).toEqual(
      (await searchDatabase(plain.databaseUrl, [phoneNumber])).filter((place) => !place.endsWith('.phone')),
    );
    await expectWhole(encrypted);
    await encrypted.close();
    await expect(plain.startAnother()).rejects.toThrow('DATA_ENCRYPTION_KEY is not set');
    await expect(plain.startAnother({ DATA_ENCRYPTION_KEY: key() })).rejects.toThrow('is not the key of this database');
  });
});

test('one damaged cell hides neither the other reports nor the rest of a person', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'operators.json');
  const operator = { authorization: `Bearer ${addOperator(file, { name: 'ann', role: 'admin' })}` };
  const env = { DATA_ENCRYPTION_KEY: key(), FOUR_EYES: 'true', OPERATORS_FILE: file };
  await using service = await startService('sqlite', env);
  await service.say('r', `2*1*${name}*4071*4071`, own);
  await service.say('p1', '3*1*5*4071', own);
  await service.say('p2', '3*1*7*4071', own);
  const put = { method: 'PUT', headers: { ...json, ...operator }, body: JSON.stringify({ address }) };
  expect((await fetch(`${service.url}${path}`, put)).status).toBe(202);
  using database = new DatabaseSync(service.databaseUrl.slice('file:'.length));
  const damage = (table: string, column: string) =>
    database.exec(`update ${table} set ${column} = substr(${column}, 1, length(${column}) - 4) || 'AAAA'
      where rowid = (select min(rowid) from ${table})`);
  damage('ussd_record', 'phone');
  damage('ussd_record', 'fields');
  damage('ussd_account', 'name');
  damage('ussd_address_change', 'address');

  const csv = await (await service.get('/api/ussd/reports?format=csv', operator)).text();
  expect(csv.split('\r\n').filter((line) => line.includes('[unreadable]'))).toHaveLength(1);
  expect(csv).toContain(phoneNumber);
  const { reports } = (await (await service.get('/api/ussd/reports', operator)).json()) as {
    reports: { amount: string }[];
  };
  expect(reports.map(({ amount }) => amount).sort()).toEqual(['7', '[unreadable]']);
  const exported = await service.get(`/api/ussd/users/${encodeURIComponent(phoneNumber)}/export`, operator);
  expect([exported.status, await exported.text()]).toEqual([200, expect.stringContaining('"unreadable":["name"]')]);
  expect(await service.say('l', '2*2*4071', own)).toMatch(/^CON/);
  const changes = (await (await service.get('/api/ussd/address-changes', operator)).json()) as object;
  expect(changes).toMatchObject({ changes: [{ phoneNumber, address: '[unreadable]' }] });
  const metrics = await (await service.get('/metrics', operator)).text();
  expect(metrics).toMatch(/database_unreadable_cells_total{table="ussd_record",column="fields",.*} [1-9]/);
});
