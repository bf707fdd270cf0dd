// USSD and SMS over SMPP 3.4, against a small SMSC of the same library and, where JSMPP is there, against that: see docs/decisions/smpp.md.
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { parseSmppLink } from '../src/smpp-options.ts';
import { missingJsmpp, startCentre } from './jsmpp/start-centre.ts';
import { startService, type TestService } from './service-fixture.ts';
import { startSmsc } from './smsc.ts';
import { writeProgram } from './write-program.ts';

const dialled = { ussd_service_op: 1, short_message: '*1234#' };

test('a call over SMPP: menus are requests, the last screen is a response that ends the session', async () => {
  await using smsc = await startSmsc();
  await using service = await startService('sqlite', { SMPP_LINKS: smsc.url });
  expect(await smsc.press(dialled)).toMatch(/^Welcome to Palaver\n1\. About/);
  expect(smsc.submitted[0]).toMatchObject({
    service_type: 'USSD',
    source_addr: '1234',
    destination_addr: '254700000001',
    ussd_service_op: 2,
    its_session_info: Buffer.from([7, 0]),
    data_coding: 0,
  });
  expect(await smsc.press({ short_message: '5' })).toContain('Kiswahili');
  expect(await smsc.press({ short_message: '*' })).toContain('Goodbye');
  expect(smsc.submitted[2]).toMatchObject({ ussd_service_op: 17, its_session_info: Buffer.from([7, 1]) });
  // The network gives the session's number to the next call: it is another call.
  expect(await smsc.press(dialled)).toMatch(/^Welcome/);
  expect(await smsc.press({ short_message: Buffer.from('2'), data_coding: 15 })).toMatch(/^My account/);
  expect(await (await service.get('/metrics')).text()).toContain('ussd_smpp_links{service="ussd"} 1');
  // The caller hangs up, and what still comes belongs to no call.
  await smsc.deliver({ ussd_service_op: 18, short_message: '', its_session_info: Buffer.from([7, 3]) });
  expect(await (await service.get('/api/ussd/sessions')).json()).toEqual({ activeSessions: [], count: 0 });
  expect(await smsc.press({ short_message: '1' })).toMatch(/^Invalid input/);
  // An outbind has no response, and nobody knows the other command.
  smsc.write(Buffer.from('000000120000000b00000000000000010000', 'hex'));
  smsc.write(Buffer.from('00000010000009990000000000000002', 'hex'));
  // A message without a session is refused.
  expect((await smsc.deliver({ ...dialled, its_session_info: Buffer.alloc(0) })).command_status).toBe(0xc3);
});

test('another code in the session of a call without input is another call', async () => {
  await using smsc = await startSmsc();
  await using service = await startService('sqlite', { SMPP_LINKS: smsc.url });
  const codes = ['*1234*5#', '*1234#'];
  for (const short_message of codes) await smsc.press({ ...dialled, short_message });
  expect(await smsc.press({ short_message: '2' })).toMatch(/^My account/);
  const { activeSessions } = (await (await service.get('/api/ussd/sessions')).json()) as { activeSessions: string[] };
  const debugged = activeSessions.map(async (id) => (await service.get(`/api/ussd/debug/${id}`)).json());
  const contexts = (await Promise.all(debugged)) as { debugInfo: { context: { serviceCode: string } } }[];
  expect(contexts.map(({ debugInfo }) => debugInfo.context.serviceCode)).toEqual(codes);
});

test('a screen survives lost links and throttling, and a repeated input is counted once', async () => {
  await using smsc = await startSmsc();
  await using service = await startService('sqlite', { SMPP_LINKS: smsc.url });
  await using other = await service.startAnother();
  expect(other.url).not.toBe(service.url);
  smsc.next = ['cut'];
  expect(await smsc.press(dialled)).toMatch(/^Welcome/);
  smsc.next = [0x58, 0x14];
  expect(await smsc.press({ short_message: '2' })).toMatch(/^My account/);
  smsc.next = ['cut', 0x58];
  const first = smsc.deliver({ ussd_service_op: 18, short_message: '1' });
  void first;
  await waitFor('the cut', () => smsc.next.length === 0);
  // The SMSC did not get the acknowledgement and delivers the input again, to whichever instance is bound.
  const before = smsc.submitted.length;
  expect(await smsc.press({ short_message: '1' })).toContain('What is your name?');
  // The screen of the first is submitted again too: it is the same.
  await waitFor('both screens', () => smsc.submitted.length >= 4);
  for (const { short_message } of smsc.submitted.slice(2))
    expect(short_message?.message).toContain('What is your name?');
  expect(before).toBeLessThan(4);
  expect(await smsc.press({ short_message: 'Ana' })).toContain('Choose a PIN');
});

const files = {
  'program.yaml': `
name: letters
codes: ["*384*8#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home.title, options: [{ text: home.long, to: long }, { text: home.other, to: other }] }
  long: { kind: action, sms: { text: home.letter }, outcomes: { queued: sent, refused: sent } }
  other: { kind: action, sms: { text: home.accents }, outcomes: { queued: sent, refused: sent } }
  sent: { kind: page, text: home.sent }
`,
  'locales/en.yaml': `
home:
  title: Letters
  long: Long
  other: Other
  letter: '${'0123456789'.repeat(15)}[${'0123456789'.repeat(3)}'
  accents: 'Ẹ ṣé, ${'ọ'.repeat(70)}'
  sent: It is on its way.
`,
};

const press = (service: TestService, id: string, text: string) =>
  service.say(id, text, { serviceCode: '*384*8#', phoneNumber: '+254700000005' });

async function listSms(service: TestService): Promise<{ status: string; fault: string | null }[]> {
  return (
    (await (await service.get('/api/ussd/sms')).json()) as { messages: { status: string; fault: string | null }[] }
  ).messages;
}

test('SMS messages go in parts, each once: what was under way when the link broke is left to an operator', async () => {
  await using smsc = await startSmsc();
  await using dir = await writeProgram(files);
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    SMPP_LINKS: smsc.url,
    SMS_PROVIDER: 'smpp',
    SMS_FROM: 'Palaver',
  });
  smsc.next = [0x58];
  await press(service, 'a', '1');
  await waitFor('the letter', () => smsc.submitted.length === 2, 30_000);
  expect(smsc.submitted[0]).toMatchObject({
    source_addr: 'Palaver',
    source_addr_ton: 5,
    destination_addr: '254700000005',
    dest_addr_ton: 1,
    registered_delivery: 1,
    esm_class: 0x40,
  });
  const parts = smsc.submitted.map(({ short_message }) => short_message);
  expect(parts.map((part) => [...(part?.udh?.[0] ?? [])].slice(3))).toEqual([
    [2, 1],
    [2, 2],
  ]);
  expect(parts.map((part) => part?.message).join('')).toBe(`${'0123456789'.repeat(15)}[${'0123456789'.repeat(3)}`);
  await smsc.deliver({ esm_class: 4, short_message: 'id:1 sub:001 dlvrd:001 stat:DELIVRD err:000 text:' });
  expect(await (await service.get('/metrics')).text()).toContain(
    'ussd_sms_receipts_total{state="DELIVRD",service="ussd"} 1',
  );

  smsc.next = ['cut'];
  await press(service, 'b', '2');
  await waitFor('the end', async () => (await listSms(service)).some(({ status }) => status === 'failed'), 30_000);
  expect((await listSms(service)).find(({ status }) => status === 'failed')?.fault).toMatch(
    /the provider may have sent it$/,
  );
  expect(smsc.submitted).toHaveLength(2);
});

test.each([
  ['http://u:p@h', 'expected smpp://'],
  ['smpp://h:2775', 'expected a host and a user'],
  ['smpp://u:p@h?window=0', 'window: '],
  ['smpp://u:p@h?windows=1', 'parameters: '],
  ['smpp://u:p@h?session=0x15', 'session: '],
])('%s is refused: %s', (link, reason) => {
  expect(parseSmppLink(link)).toContain(reason);
});

test('a vendor’s tag names the session', () => {
  expect(parseSmppLink('smpps://u:p%40x@[::1]?session=0x1501&last=notify&per_second=5')).toMatchObject({
    host: '::1',
    port: 3550,
    isTls: true,
    password: 'p@x',
    sessionField: '0x1501',
    lastOperation: 3,
    perSecond: 5,
  });
});

test.for([
  { callers: 20, cutMs: 0, engine: 'sqlite' as const },
  { callers: 1_000, cutMs: 1_000, engine: 'postgres' as const },
])(
  'JSMPP: $callers callers at once, links cut every $cutMs ms: none is lost, no input counts twice',
  { timeout: 1_300_000 },
  async ({ callers, cutMs, engine }, { skip }) => {
    if (missingJsmpp) return skip(missingJsmpp);
    await using centre = await startCentre([['*1234#', '2', '1', 'Ana', '*']], { callers, cutMs });
    const patient = { SESSION_TIMEOUT_SECONDS: '3600' };
    await using service = await startService(engine, { ...patient, SMPP_LINKS: centre.url });
    await using other = await service.startAnother({ ...patient, SMPP_LINKS: `${centre.url}&system_type=two` });
    expect(other.url).not.toBe(service.url);
    const screens = [
      'Welcome to Palaver',
      'My account',
      'What is your name?',
      'Choose a PIN of 4 to 6 digits.',
      'Thank you for using Palaver. Goodbye.',
    ];
    expect(await centre.finished()).toEqual({ doubled: 0, transcripts: [{ callers, screens }] });
  },
);
