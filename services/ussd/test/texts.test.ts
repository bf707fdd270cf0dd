// A program by SMS: opened by a keyword, one message for each screen, the same records as by USSD.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { type RawBuilder, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { isQuiet } from '../src/channel/push.ts';
import type { UssdTables } from '../src/store/tables.ts';
import { startService, type TestService } from './service-fixture.ts';
import { startSmsServer } from './sms-server.ts';
import { startSmsc } from './smsc.ts';
import { writeProgram } from './write-program.ts';

const files = {
  'program.yaml': `
name: harvest
codes: ["*384*8#"]
keywords: [harvest]
extends: palaver
languages: [en]
start: home
records:
  harvest: { kilos: integer }
states:
  home:
    kind: menu
    text: home.title
    options:
      - { text: home.report, to: kilos }
      - { text: home.code, to: code }
      - { text: home.tell, to: number }
  kilos: { kind: prompt, text: home.kilos, type: integer, min: 1, save: kilos, to: keep }
  keep: { kind: action, store: harvest, fields: { kilos: kilos }, outcomes: { stored: thanks } }
  thanks: { kind: page, text: home.thanks }
  code: { kind: prompt, text: home.secret, type: text, secret: true, save: code, to: thanks }
  number: { kind: prompt, text: home.number, type: phone, save: number, to: tell }
  tell: { kind: action, sms: { text: home.news, number: number }, outcomes: { queued: thanks, refused: { to: home, hint: home.refused } } }
`,
  'locales/en.yaml': `
home:
  title: 'Harvest'
  report: Report
  code: My code
  tell: Tell a friend
  kilos: How many kilos did you weigh?
  secret: What is your code?
  number: Whose number?
  news: The zebras are here.
  thanks: '${'Thank you. '.repeat(22)}'
  refused: That number wants no messages.
`,
};

const grower = '+254700000081';

async function startTexting(engine: 'sqlite' | 'postgres') {
  const dir = await writeProgram(files);
  const provider = await startSmsServer();
  const service = await startService(engine, {
    USSD_PROGRAMS: dir.path,
    SMS_PROVIDER: 'webhook',
    SMS_URL: provider.url,
    USSD_SHARED_SECRET: 'a-secret-of-the-provider',
  });
  let ids = 0;
  const received = () => provider.requests.map(({ body }) => JSON.parse(body) as { to: string; text: string });
  return {
    service,
    received,
    /** As a provider passes it on; gives the next message that the phone gets. */
    async text(text: string, { from = grower, id = `text-${++ids}` } = {}) {
      const before = received().length;
      const response = await send(service, { from, to: '1234', text, id });
      expect(response.status).toBe(200);
      return (await waitFor('the message', () => received()[before], 15_000)).text;
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function openUssdStore({ databaseUrl }: TestService) {
  const store = await openStore<UssdTables>(databaseUrl);
  return { db: store.db, [Symbol.asyncDispose]: () => store.close() };
}

const toSent = (i: number) => ({
  id: `earlier-${i}`,
  program: 'harvest',
  phone: grower,
  caller: grower,
  body: 'Harvest',
  created_at: Date.now(),
  dialogue: 'earlier',
  status: 'sent' as const,
  attempts: 1,
  next_at: null,
  fault: null,
  lease_until: 0,
});

const send = (
  service: TestService,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
  body: string | URLSearchParams = new URLSearchParams(fields),
) =>
  fetch(`${service.url}/api/ussd/texts`, {
    method: 'POST',
    headers: { 'x-gateway-secret': 'a-secret-of-the-provider', ...headers },
    body,
  });

describe.each(engines)('on %s', (engine) => {
  test('a keyword opens a program, a text delivered twice counts once, and a stop is kept', async () => {
    await using phone = await startTexting(engine);
    const { service, received } = phone;
    expect(await phone.text('Harvest')).toBe('Harvest\n1. Report\n2. My code\n3. Tell a friend\n*. Exit');
    expect(await phone.text('1', { id: 'twice' })).toMatch(/^How many kilos/);
    await send(service, { from: grower, to: '1234', text: '1', id: 'twice' });
    expect(await phone.text('nine')).toContain('number');
    // More than a USSD screen holds, in one message.
    expect((await phone.text('90')).length).toBeGreaterThan(240);
    expect(await phone.text('0')).toMatch(/^Harvest/);
    expect(await phone.text('2')).toBe('Secrets are not asked in messages. Please dial *384*8#');
    const operator = { headers: { 'x-gateway-secret': 'a-secret-of-the-provider' } };
    const records = await (await fetch(`${service.url}/api/ussd/records/harvest/harvest`, operator)).json();
    expect(records).toMatchObject({ records: [{ phoneNumber: grower, fields: { kilos: 90 } }] });

    expect(await phone.text('stop')).toMatch(/^You will get no more messages/);
    const count = received().length;
    const other = '+254700000082';
    expect(await phone.text('HARVEST', { from: other })).toMatch(/^Harvest/);
    expect(await phone.text('3', { from: other })).toMatch(/^Whose number/);
    expect(await phone.text(grower, { from: other })).toMatch(/^That number wants no messages/);
    expect(
      received()
        .slice(count)
        .map(({ to }) => to),
    ).toEqual([other, other, other]);
    // Whoever asks for a program wants its answer.
    expect(await phone.text('harvest')).toMatch(/^Harvest/);
  });

  test('a machine that writes back is answered 100 times a day, however fast it writes', async () => {
    await using phone = await startTexting(engine);
    const { service } = phone;
    await using store = await openUssdStore(service);
    const earlier = Array.from({ length: 97 }, (_, i) => toSent(i));
    await store.db.insertInto('ussd_sms').values(earlier).execute();
    expect(await phone.text('harvest')).toMatch(/^Harvest/);
    expect(await phone.text('STOP')).toMatch(/^You will get no more/);
    await send(service, { from: grower, to: '1234', text: 'STOP' });
    expect(await phone.text('harvest')).toBe('100 messages a day are answered. Please write again tomorrow.');
    const texts = ['harvest', '1', 'stop', 'harvest', 'START'];
    for (const text of texts) expect((await send(service, { from: grower, to: '1234', text })).status).toBe(200);
    // A sender can be forged, so a stop is not lifted behind the back of its number.
    const stops = store.db.selectFrom('ussd_profile').select('stopped_at').where('stopped_at', 'is not', null);
    expect(await stops.execute()).toHaveLength(1);
    const machine = '+254700000083';
    // A busy database refuses some, and their sender delivers them again.
    const deliver = async (to: string) => {
      while (!(await send(service, { from: machine, to, text: 'harvest' })).ok);
    };
    await Promise.all(Array.from({ length: 120 }, (_, i) => deliver(String(i))));
    const { rows } = await sql<{ phone: string; count: number }>`select phone, count(*) as count from ussd_sms
      group by phone order by phone`.execute(store.db);
    expect(rows.map(({ count }) => Number(count))).toEqual([100, 100]);
  });

  test('a text that is delivered late changes nothing, and what cannot be continued is not done again', async () => {
    await using phone = await startTexting(engine);
    const { service, received } = phone;
    await using store = await openUssdStore(service);
    const deliver = async (text: string, id: string) =>
      expect((await send(service, { from: grower, to: '1234', text, id })).status).toBe(200);
    const change = (statement: RawBuilder<unknown>) => statement.execute(store.db);
    await phone.text('harvest', { id: 'opened' });
    await phone.text('1', { id: 'first' });
    await deliver('harvest', 'opened');
    expect(await phone.text('90', { id: 'second' })).toMatch(/^Thank you/);
    await deliver('1', 'first');
    await deliver('harvest', 'opened');
    expect(received()).toHaveLength(3);
    expect(await phone.text('0')).toMatch(/^Harvest/);

    await change(sql`delete from ussd_action_result`);
    await change(sql`update ussd_session set text_length = text_length + 9, text_hash = 'later'`);
    await deliver('1', 'before others');
    // Of a newer version of the service.
    await change(sql`update ussd_session set text_length = 0, text_hash = 'newer', dialogue = '{"f":99}'`);
    expect(await phone.text('1')).not.toMatch(/^How many/);
    const { rows } = await sql`select id from ussd_record`.execute(store.db);
    expect(rows).toHaveLength(1);

    await phone.text('harvest');
    await change(sql`update ussd_input set sealed = 'v1.000000000000.' || substr(sealed, 17)`);
    await deliver('1', 'of a key that is gone');
    expect(await phone.text('harvest')).toMatch(/^Harvest/);
  });

  test('texts of strangers and of nobody are not answered', async () => {
    await using phone = await startTexting(engine);
    const refused = await send(phone.service, { from: grower, to: '1', text: 'harvest' }, { 'x-gateway-secret': 'x' });
    expect(refused.status).toBe(403);
    expect((await send(phone.service, { to: '1' })).status).toBe(400);
    for (const [from, text] of [
      [grower, 'hello'],
      ['Bank', 'harvest'],
      [grower, ' '],
    ] as const)
      expect((await send(phone.service, { from, to: '1234', text })).status).toBe(200);
    const post = (fields: object) =>
      send(phone.service, {}, { 'content-type': 'application/json' }, JSON.stringify(fields));
    expect((await post({ from: grower, text: 'hello', to: { toString: 1 }, id: { toString: 1 } })).status).toBe(200);
    expect((await post({ from: [grower], text: 'hello' })).status).toBe(400);
    // Two providers may give the same id.
    for (const from of ['+254700000084', '+254700000085'])
      expect(await phone.text('stop', { from, id: 'same' })).toMatch(/^You will get no more/);
    const before = phone.received().length;
    await phone.text('harvest');
    expect(phone.received()).toHaveLength(before + 1);
    for (const text of ['1\0', '\ud8009']) expect((await post({ from: grower, to: '1234', text })).status).toBe(200);
    await waitFor('the answers', () => phone.received().length === before + 3, 15_000);
  });
});

async function startSmpp(env: Record<string, string> = {}) {
  const smsc = await startSmsc();
  const dir = await writeProgram(files);
  const given = { USSD_PROGRAMS: dir.path, SMPP_LINKS: smsc.url, SMS_PROVIDER: 'smpp' };
  const service = await startService('sqlite', { ...given, ...env });
  return {
    smsc,
    service,
    async push(phoneNumber: string, by = 'ussd') {
      const body = JSON.stringify({ program: 'harvest', phoneNumber, by });
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`${service.url}/api/ussd/push`, { method: 'POST', headers, body })).status;
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
      await smsc[Symbol.asyncDispose]();
    },
  };
}

test('a program starts at a phone that has called, once a day, and not where messages are unwanted', async () => {
  await using started = await startSmpp({ SMS_FROM: '1234', PUSH_QUIET_HOURS: '0-0' });
  const { smsc, service, push } = started;
  const number = (last: number) => ({ phoneNumber: `+25470000009${last}`, serviceCode: '*384*8#' });
  expect(await push(number(1).phoneNumber)).toBe(409);
  for (const last of [1, 2, 3]) await service.say(`call-${last}`, '*', number(last));
  expect(await push(number(1).phoneNumber)).toBe(202);
  expect(await push(number(1).phoneNumber, 'sms')).toBe(409);
  const [screen] = smsc.submitted;
  expect(screen).toMatchObject({ ussd_service_op: 2, destination_addr: '254700000091', source_addr: '384*8' });
  // The phone answers in the session that the service has opened.
  const press = { source_addr: '254700000091', its_session_info: screen?.its_session_info };
  expect(await smsc.press({ ...press, short_message: '1' })).toMatch(/^How many kilos/);
  expect(await push(number(2).phoneNumber, 'sms')).toBe(202);
  expect((await waitFor('the message', () => smsc.submitted[2], 15_000)).service_type).not.toBe('USSD');
  await smsc.deliver({ source_addr: '254700000093', short_message: 'STOP' });
  expect(await push(number(3).phoneNumber, 'sms')).toBe(409);
  const { lines } = (await (await service.get('/api/ussd/audit?action=caller.pushed')).json()) as { lines: object[] };
  expect(lines).toHaveLength(5);
});

test('a push that sends nothing says so and leaves the push of the day', async () => {
  await using started = await startSmpp({ PUSH_QUIET_HOURS: '0-0' });
  const { smsc, service, push } = started;
  await service.say('call', '*', { phoneNumber: grower, serviceCode: '*384*8#' });
  await using store = await openUssdStore(service);
  const earlier = Array.from({ length: 100 }, (_, i) => toSent(i));
  await store.db.insertInto('ussd_sms').values(earlier).execute();
  expect(await push(grower, 'sms')).toBe(409);
  await waitFor('the bind', () => smsc.binds === 1);
  smsc.next = [0x0b];
  expect(await push(grower)).toBe(503);

  // Every session of the phone but one is open.
  const number = { source_addr: grower.slice(1), ussd_service_op: 1, short_message: '*384*8#' };
  const free = 77;
  for (let id = 0; id < 256; id++)
    if (id !== free) await smsc.deliver({ ...number, its_session_info: Buffer.from([id, 0]) });
  await waitFor('the screens', () => smsc.submitted.length === 255, 15_000);
  expect(await push(grower)).toBe(202);
  expect(smsc.submitted[255]?.its_session_info).toEqual(Buffer.from([free, 0]));
});

test('a text whose answer is asked for in the reply is sent to nobody', async () => {
  await using texting = await startTexting('sqlite');
  const { service, received } = texting;
  const ask = async (text: string, headers?: Record<string, string>) => {
    const response = await fetch(`${service.url}/api/ussd/texts?reply=body`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-secret': 'a-secret-of-the-provider', ...headers },
      body: JSON.stringify({ from: grower, to: '1234', text }),
    });
    return response.ok ? response.text() : response.status;
  };
  expect(await ask('harvest')).toMatch(/^Harvest/);
  expect(await ask('1')).toMatch(/^How many kilos/);
  expect(await ask('12')).toMatch(/^Thank you/);
  expect(await ask('stop')).toMatch(/^You will get no more/);
  expect(await ask('1')).toBe('');
  expect(await ask('harvest', { 'x-gateway-secret': 'another' })).toBe(403);
  expect(received()).toEqual([]);
});

test('texts beyond the limit of their provider leave its callers theirs', async () => {
  await using service = await startService('sqlite', { RATE_LIMIT_PER_MINUTE: '3' });
  const sent = Array.from({ length: 5 }, () => send(service, { from: grower, to: '1234', text: 'hello' }));
  expect((await Promise.all(sent)).map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429]);
  expect(await service.say('call', '')).toMatch(/^CON/);
});

test('texts beyond USSD_MAX_IN_FLIGHT are refused, for the provider to deliver again', async () => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const server = createServer(async (_, response) => {
    asked.resolve();
    await gate.promise;
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using dir = await writeProgram({
    'program.yaml': `
name: slow
keywords: [slow]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home, options: [{ text: home, to: ask }] }
  ask: { kind: action, http: { get: "http://${host}" }, outcomes: { ok: home, missing: home, failed: home } }
`,
    'locales/en.yaml': 'home: Home\n',
  });
  const env = { USSD_PROGRAMS: dir.path, USSD_HTTP_ALLOWED_HOSTS: host, USSD_MAX_IN_FLIGHT: '1' };
  await using service = await startService('sqlite', env);
  const text = async (input: string, from = grower) => (await send(service, { from, to: '1', text: input })).status;
  expect(await text('slow')).toBe(200);
  const waiting = text('1');
  await asked.promise;
  expect(await text('slow', '+254700000082')).toBe(503);
  gate.resolve();
  expect(await waiting).toBe(200);
  expect(await text('slow', '+254700000082')).toBe(200);
  server.close();
});

test.each([
  ['20-8', 7, true],
  ['20-8', 8, false],
  ['20-8', 20, true],
  ['1-5', 4, true],
  ['1-5', 5, false],
  ['0-0', 0, false],
])('phones are left alone from %s: at %i o’clock %s', (hours, hour, expected) => {
  expect(isQuiet(hours, hour)).toBe(expected);
});

test('over SMPP: screens go in parts, and a receipt changes what is known of a message', async () => {
  await using started = await startSmpp();
  const { smsc, service } = started;
  const text = async (short_message: string, parts = 1) => {
    const before = smsc.submitted.length;
    await smsc.deliver({ short_message });
    await waitFor('the message', () => smsc.submitted.length === before + parts, 15_000);
    return smsc.submitted.slice(before);
  };
  expect(String((await text('harvest'))[0]?.short_message?.message)).toMatch(/^Harvest/);
  expect(String((await text('1'))[0]?.short_message?.message)).toMatch(/^How many/);
  expect(await text('12', 2)).toHaveLength(2);
  await smsc.deliver({ esm_class: 4, receipted_message_id: '4', message_state: 2 });
  const { messages } = (await (await service.get('/api/ussd/sms')).json()) as { messages: { receipt: string }[] };
  expect(messages.map(({ receipt }) => receipt ?? null).filter(Boolean)).toEqual(['DELIVRD']);
});

test('over SMPP: a text in several parts is one input, in whichever order they come, and however often', async () => {
  await using started = await startSmpp();
  const { smsc, service } = started;
  const inHeader = (number: number, text: string) => ({
    esm_class: 0x40,
    short_message: { udh: Buffer.from([5, 0, 3, 9, 2, number]), message: text },
  });
  const inFields = (number: number, short_message: string) => ({
    short_message,
    sar_msg_ref_num: 9,
    sar_total_segments: 3,
    sar_segment_seqnum: number,
  });
  expect(await smsc.text({ short_message: 'harvest' })).toMatch(/^Harvest/);
  await smsc.deliver(inFields(3, '1'));
  await smsc.deliver(inFields(1, ' '));
  expect(await smsc.text(inFields(2, ' '))).toMatch(/^How many/);
  await smsc.deliver(inHeader(2, '8'));
  await smsc.deliver(inHeader(2, '8'));
  await smsc.deliver(inHeader(3, 'of two parts'));
  expect(await smsc.text(inHeader(1, '4'))).toMatch(/^Thank you/);
  await using store = await openUssdStore(service);
  const records = await store.db.selectFrom('ussd_record').select('fields').execute();
  expect(records.map(({ fields }) => JSON.parse(fields))).toEqual([{ kilos: 48 }]);
});
