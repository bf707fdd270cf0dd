// Messages of programs: kept with the step that sends them, and sent once in spite of broken connections and kills.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '@palaver/store';
import { createTempDir, createTestDatabase, engines, searchDatabase, startProcess, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { startCommitCutter } from './commit-cutter.ts';
import { startService, type TestService, testKey, ussdTemplate } from './service-fixture.ts';
import { startSmsServer } from './sms-server.ts';
import { writeProgram } from './write-program.ts';

const files = {
  'program.yaml': `
name: receipts
codes: ["*384*8#"]
extends: palaver
languages: [en]
start: home
records:
  payment: { amount: integer }
states:
  home:
    kind: menu
    text: home.title
    options:
      - { text: home.mine, to: amount }
      - { text: home.other, to: friend }
  amount: { kind: prompt, text: home.amount, type: integer, min: 1, save: amount, to: keep }
  keep: { kind: action, store: payment, fields: { amount: amount }, outcomes: { stored: receipt } }
  receipt: { kind: action, sms: { text: home.receipt }, outcomes: { queued: sent, refused: { to: sent, hint: home.refused } } }
  friend: { kind: prompt, text: home.friend, type: phone, save: friend, to: invite }
  invite: { kind: action, sms: { text: home.invitation, number: friend }, outcomes: { queued: sent, refused: { to: sent, hint: home.refused } } }
  sent: { kind: page, text: home.sent }
`,
  'locales/en.yaml': `
home:
  title: Receipts
  mine: My receipt
  other: Invite a friend
  amount: How much?
  friend: Whom?
  receipt: 'You paid {amount} zebras.'
  invitation: 'Come to the zebra market.'
  sent: A message is on its way.
  refused: Too many messages today.
`,
};
const phoneNumber = '+254700000071';
const friend = '+254700000072';
const press = (service: TestService, id: string, text: string, from = phoneNumber) =>
  service.say(id, text, { serviceCode: '*384*8#', phoneNumber: from });

interface Listed {
  id: string;
  status: string;
  attempts: number;
  fault: string | null;
  phoneNumber: string;
}

async function list(service: TestService, query = ''): Promise<Listed[]> {
  return ((await (await service.get(`/api/ussd/sms${query}`)).json()) as { messages: Listed[] }).messages;
}

const untilStatus = (service: TestService, status: string, count = 1) =>
  waitFor(`${count} ${status}`, async () => (await list(service, `?status=${status}`)).length === count, 90_000);

describe.each(engines)('messages on %s', (engine) => {
  test('are sent once, retried, listed, limited, encrypted and erased', async () => {
    await using server = await startSmsServer();
    await using dir = await writeProgram(files);
    await using service = await startService(engine, {
      USSD_PROGRAMS: dir.path,
      DATA_ENCRYPTION_KEY: 'cd'.repeat(32),
      SMS_PROVIDER: 'webhook',
      SMS_URL: `${server.url}/messages`,
      SMS_TOKEN: 'sms-token',
      SMS_PER_DAY: '2',
    });
    // Two instances send, the telecom gateway asks again, and the first connection breaks after the message has arrived.
    await using other = await service.startAnother();
    server.next = ['cut'];
    for (const each of [service, service, other])
      expect(await press(each, 'a', '1*250')).toMatch(/^CON A message is on its way\./);
    await untilStatus(service, 'sent');
    expect(server.requests.map(({ body }) => JSON.parse(body))).toEqual(
      Array(2).fill({ id: expect.any(String), to: phoneNumber, text: 'You paid 250 zebras.' }),
    );
    expect(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(server.requests[0]?.headers.authorization).toBe('Bearer sms-token');
    expect(await searchDatabase(service.databaseUrl, [phoneNumber.slice(1), '250 zebras'])).toEqual([]);

    server.next = [400];
    await press(service, 'b', `2*${friend}`);
    await untilStatus(service, 'failed');
    const [failed] = await list(service, '?status=failed');
    expect(failed).toMatchObject({ phoneNumber: friend, fault: 'status 400', attempts: 1 });
    expect(JSON.stringify(failed)).not.toContain('zebra');
    const retried = await fetch(`${service.url}/api/ussd/sms/retry`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: failed?.id }),
    });
    expect(await retried.json()).toEqual({ queued: 1 });
    await untilStatus(service, 'sent', 2);
    // The caller has caused two messages, and may cause no third, whomever it is for.
    for (const text of ['1*5', `2*${friend}`])
      expect(await press(service, `c${text}`, text)).toMatch(/^CON Too many messages today\./);
    const countSent = async (each: TestService) =>
      Number(/^ussd_sms_total\{.*result="sent".*\} (\d+)/m.exec(await (await each.get('/metrics')).text())?.[1] ?? 0);
    await waitFor('the metrics', async () => (await countSent(service)) + (await countSent(other)) === 2);

    await fetch(`${service.url}/api/ussd/users/${encodeURIComponent(friend)}`, { method: 'DELETE' });
    expect((await list(service)).map((message) => message.phoneNumber)).toEqual([phoneNumber]);
  });

  test('a kill between the actions and the session leaves a retry with the normal reply, one record and one message', async () => {
    await using dir = await writeProgram(files);
    await using service = await startService(engine, { USSD_PROGRAMS: dir.path, SMS_PER_DAY: '1' });
    await using other = await service.startAnother();
    const store = await openStore<UssdTables>(service.databaseUrl);
    await using _closed = { [Symbol.asyncDispose]: () => store.close() };
    for (const text of ['', '1']) await press(service, 'a', text);
    const before = await store.db
      .selectFrom('ussd_session')
      .selectAll()
      .where('id', '=', 'a')
      .executeTakeFirstOrThrow();
    const reply = await press(service, 'a', '1*250');
    expect(reply).toMatch(/^CON A message is on its way\./);
    await store.db.updateTable('ussd_session').set(before).where('id', '=', 'a').execute();
    expect(await press(other, 'a', '1*250')).toBe(reply);
    expect(await store.db.selectFrom('ussd_record').select('id').execute()).toHaveLength(1);
    expect(await list(service)).toHaveLength(1);
  });
});

test.concurrent.each([
  {
    SMS_PROVIDER: 'twilio',
    path: '/2010-04-01/Accounts/me/Messages.json',
    headers: { authorization: `Basic ${btoa('me:secret')}` },
    body: `To=${encodeURIComponent(phoneNumber)}&Body=You+paid+7+zebras.&From=Palaver`,
    answer: { sid: 'SM1', status: 'queued' },
  },
  {
    SMS_PROVIDER: 'africas-talking',
    path: '/version1/messaging',
    headers: { apikey: 'secret' },
    body: `username=me&to=${encodeURIComponent(phoneNumber)}&message=You+paid+7+zebras.&from=Palaver`,
    answer: { SMSMessageData: { Message: 'Sent to 1/1', Recipients: [{ statusCode: 101, status: 'Success' }] } },
    refused: {
      SMSMessageData: { Message: 'Sent to 0/1', Recipients: [{ statusCode: 406, status: 'UserInBlacklist' }] },
    },
  },
])('$SMS_PROVIDER sends a message whose outcome is unknown only once', async ({ SMS_PROVIDER, ...wanted }) => {
  await using server = await startSmsServer();
  server.answer = wanted.answer;
  await using dir = await writeProgram(files);
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    SMS_PROVIDER,
    SMS_URL: server.url,
    SMS_USER: 'me',
    SMS_TOKEN: 'secret',
    SMS_FROM: 'Palaver',
  });
  server.next = [503];
  await press(service, 'a', '1*7');
  await untilStatus(service, 'sent');
  expect(server.requests).toHaveLength(2);
  expect(server.requests[1]).toMatchObject({ path: wanted.path, headers: wanted.headers, body: wanted.body });
  server.next = ['cut'];
  await press(service, 'b', '1*8');
  await untilStatus(service, 'failed');
  expect((await list(service, '?status=failed'))[0]?.fault).toMatch(/the provider may have sent it$/);
  expect(server.requests).toHaveLength(3);
  server.next = [502];
  await press(service, 'd', '1*6');
  await untilStatus(service, 'failed', 2);
  expect((await list(service, '?status=failed')).map(({ fault }) => fault)).toContain(
    'status 502; the provider may have sent it',
  );
  expect(server.requests).toHaveLength(4);
  if (!wanted.refused) return;
  server.answer = wanted.refused;
  await press(service, 'c', '1*9');
  await untilStatus(service, 'failed', 3);
  expect((await list(service, '?status=failed')).map(({ fault }) => fault)).toContain('UserInBlacklist');
});

test.concurrent.each([
  { SMS_PROVIDER: 'webhook', status: 'sent', requests: 2 },
  { SMS_PROVIDER: 'twilio', status: 'failed', requests: 1 },
])('an instance that is killed while it sends leaves a message that is $status with $SMS_PROVIDER', async (wanted) => {
  await using server = await startSmsServer();
  await using dir = await writeProgram(files);
  await using data = await createTempDir();
  await using database = await createTestDatabase('sqlite');
  const env = {
    PIN_ENCRYPTION_KEY: testKey,
    DATABASE_URL: database.url,
    DATA_DIR: data.path,
    USSD_PROGRAMS: dir.path,
    SMS_PROVIDER: wanted.SMS_PROVIDER,
    SMS_URL: server.url,
    SMS_USER: 'me',
    SMS_TOKEN: 'secret',
    SMS_FROM: 'Palaver',
  };
  server.next = ['hang'];
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const first = startProcess(process.execPath, [main], { env: { ...env, PORT: '0' } });
  await first.printed(/listening on http:\S+/);
  const url = /listening on (http:[^\s"]+)/.exec(first.output())?.[1];
  await fetch(`${url}/api/ussd`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId: 'k', serviceCode: '*384*8#', phoneNumber, text: '1*3' }),
  });
  await waitFor('the request', () => server.requests.length === 1, 90_000);
  first.kill('SIGKILL');
  await first.exited;
  await using second = await startService('sqlite', env);
  const store = await openStore<UssdTables>(database.url);
  await using _closed = { [Symbol.asyncDispose]: () => store.close() };
  expect(await list(second)).toMatchObject([{ status: 'sending', attempts: 1 }]);
  await waitFor('the metric', async () => /^ussd_sms_waiting.* 1$/m.test(await (await second.get('/metrics')).text()));
  // The lease of the dead instance ends.
  await store.db.updateTable('ussd_sms').set({ lease_until: 0 }).execute();
  await untilStatus(second, wanted.status);
  expect(server.requests).toHaveLength(wanted.requests);
  expect(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
});

const twilio = { SMS_PROVIDER: 'twilio', SMS_USER: 'me', SMS_TOKEN: 'secret', SMS_FROM: 'Palaver' };

async function untilOver(service: TestService): Promise<Listed[]> {
  await waitFor('the end', async () => ['sent', 'failed'].includes((await list(service))[0]?.status ?? ''));
  return list(service);
}

test.concurrent('PostgreSQL: a message is sent although the reply to its claim is lost', async () => {
  await using server = await startSmsServer();
  await using dir = await writeProgram(files);
  await using database = await createTestDatabase('postgres', ussdTemplate);
  await using cutter = await startCommitCutter(new URL(database.url));
  const env = { DATABASE_URL: cutter.url, USSD_PROGRAMS: dir.path, ...twilio, SMS_URL: server.url };
  await using service = await startService('sqlite', env);
  cutter.arm(/update "ussd_sms"/);
  await press(service, 'a', '1*3');
  expect(await untilOver(service)).toMatchObject([{ status: 'sent', attempts: 1 }]);
  expect([server.requests.length, cutter.cuts()]).toEqual([1, 1]);
});

test.concurrent('PostgreSQL: that a message is sent is noted although the database fails at first', async () => {
  await using server = await startSmsServer();
  await using dir = await writeProgram(files);
  await using service = await startService('postgres', { USSD_PROGRAMS: dir.path, ...twilio, SMS_URL: server.url });
  const store = await openStore<UssdTables>(service.databaseUrl);
  await using _closed = { [Symbol.asyncDispose]: () => store.close() };
  // A sequence keeps its value when the transaction fails.
  await sql`create sequence test_attempts`.execute(store.db);
  await sql`create function fail_at_first() returns trigger language plpgsql as $$ begin
    if nextval('test_attempts') < 3 then raise exception 'not yet'; end if;
    return new;
  end $$`.execute(store.db);
  await sql`create trigger fail_at_first before update on ussd_sms for each row when (new.status = 'sent')
    execute function fail_at_first()`.execute(store.db);
  await press(service, 'a', '1*3');
  expect(await untilOver(service)).toMatchObject([{ status: 'sent', attempts: 1 }]);
  expect(server.requests).toHaveLength(1);
});

test.concurrent('without a provider messages are files, and a provider without its variables does not start', async () => {
  await using dir = await writeProgram(files);
  await using data = await createTempDir();
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path, DATA_DIR: data.path });
  await press(service, 'a', '1*4');
  await untilStatus(service, 'sent');
  const [file = ''] = readdirSync(join(data.path, 'sms'));
  expect(JSON.parse(readFileSync(join(data.path, 'sms', file), 'utf8'))).toMatchObject({ text: 'You paid 4 zebras.' });
  const fault = await startService('sqlite', { SMS_PROVIDER: 'twilio', SMS_USER: 'me' }).then(String, String);
  expect(fault).toContain('SMS_PROVIDER=twilio needs SMS_TOKEN, SMS_FROM');
  const production = {
    NODE_ENV: 'production',
    PIN_ENCRYPTION_KEY: '9f3c71e5a8d02b64'.repeat(4),
    USSD_PROGRAMS: dir.path,
  };
  expect(await startService('sqlite', production).then(String, String)).toContain(
    'program.yaml:1: the program sends SMS messages; production needs an SMS_PROVIDER other than file',
  );
});
