// What an SMSC must not be able to do to calls, by mistake or on purpose.
import { openStore } from '@palaver/store';
import { waitFor } from '@palaver/test-kit';
import { PDU } from 'smpp';
import { expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { startService } from './service-fixture.ts';
import { startSmsc } from './smsc.ts';
import { writeProgram } from './write-program.ts';

const dialled = { ussd_service_op: 1, short_message: '*1234#' };
const typed = (text: string, number: number) => ({
  ussd_service_op: 18,
  short_message: text,
  its_session_info: Buffer.from([7, number]),
});

test('an input that is delivered once more after later ones is not typed again, and its screen is not sent again', async () => {
  await using smsc = await startSmsc();
  await using service = await startService('sqlite', { SMPP_LINKS: smsc.url });
  await smsc.press(dialled);
  await smsc.press(typed('2', 2));
  expect(await smsc.press(typed('1', 4))).toContain('What is your name?');
  const sent = smsc.submitted.length;
  expect((await smsc.deliver(typed('2', 2))).command_status).toBe(0);
  expect(await smsc.press(typed('Ana', 6))).toContain('Choose a PIN');
  expect(smsc.submitted.length).toBe(sent + 1);
  // The network counts from the beginning in the next call, which may be typed as the first was.
  await smsc.press(typed('*', 8));
  for (const [text, number, shown] of [
    ['2', 2, 'My account'],
    ['1', 4, 'What is your name?'],
  ] as const) {
    if (number === 2) expect(await smsc.press(dialled)).toMatch(/^Welcome/);
    expect(await smsc.press(typed(text, number))).toContain(shown);
  }
  expect(await (await service.get('/metrics')).text()).toContain(
    'ussd_smpp_screens_total{outcome="sent",service="ussd"} 8',
  );
});

test('a screen that waits is not shown in the next call, which may have the same session number', async () => {
  await using smsc = await startSmsc();
  await using service = await startService('sqlite', { SMPP_LINKS: smsc.url });
  await smsc.press(dialled);
  smsc.next = [0x58];
  await smsc.deliver(typed('2', 2));
  await waitFor('the refusal', () => smsc.next.length === 0);
  await smsc.deliver(typed('', 5));
  expect(await smsc.press(dialled)).toMatch(/^Welcome/);
  expect(await smsc.press(typed('3', 2))).toContain('to send a report');
  expect(smsc.submitted.map(({ short_message }) => String(short_message?.message).split('\n')[0])).not.toContain(
    'My account',
  );
  const metrics = await (await service.get('/metrics')).text();
  expect(metrics).toContain('ussd_smpp_screens_total{outcome="left",service="ussd"} 1');
});

test('an input that cannot be stored is refused, and is answered when it is delivered again', async () => {
  await using smsc = await startSmsc();
  await using service = await startService('sqlite', { SMPP_LINKS: smsc.url });
  await smsc.press(dialled);
  const { db, close } = await openStore<UssdTables>(service.databaseUrl);
  await db.schema.alterTable('ussd_input').renameTo('ussd_away').execute();
  expect((await smsc.deliver(typed('2', 2))).command_status).toBe(8);
  await db.schema.alterTable('ussd_away').renameTo('ussd_input').execute();
  await close();
  expect(await smsc.press(typed('2', 2))).toContain('My account');
  expect(smsc.submitted).toHaveLength(2);
});

/** `callback_num` of one byte, where the package expects three. */
const unreadable = ['deliver_sm', 'data_sm', 'submit_sm'].map((command, i) => {
  const fields = { source_addr: '254700000001', destination_addr: '1234', sequence_number: 100 + i };
  const bytes = Buffer.concat([new PDU(command, fields).toBuffer(), Buffer.from('0381000101', 'hex')]);
  bytes.writeUInt32BE(bytes.length, 0);
  return bytes;
});

test('a message that cannot be read is refused for good, and the link stays', async () => {
  await using smsc = await startSmsc();
  await using _service = await startService('sqlite', { SMPP_LINKS: smsc.url });
  await smsc.press(dialled);
  for (const bytes of unreadable) smsc.write(bytes);
  const answers = () => smsc.responses.filter(({ sequence_number }) => sequence_number >= 100);
  await waitFor('the answers', () => answers().length === unreadable.length);
  expect(answers().map(({ command, command_status }) => [command, command_status])).toEqual([
    ['deliver_sm_resp', 0x65],
    ['data_sm_resp', 0x65],
    ['generic_nack', 2],
  ]);
  expect(await smsc.press(typed('2', 2))).toContain('My account');
  expect(smsc.binds).toBe(1);
});

test.each([0, 1, 4, 15, 16_385, 0xffffffff])(
  'a PDU of %i bytes ends its link, and the next one works',
  async (length) => {
    await using smsc = await startSmsc();
    await using _service = await startService('sqlite', { SMPP_LINKS: smsc.url });
    await smsc.press(dialled);
    const header = Buffer.alloc(16);
    header.writeUInt32BE(length, 0);
    smsc.write(header);
    await waitFor('another bind', () => smsc.binds === 2);
    expect(await smsc.press(typed('2', 2))).toContain('My account');
  },
);

const letters = {
  'program.yaml': `
name: letters
codes: ["*384*8#"]
keywords: [letters]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home.title, options: [{ text: home.send, to: send }] }
  send: { kind: action, sms: { text: home.letter }, outcomes: { queued: home, refused: home } }
`,
  'locales/en.yaml': '\nhome:\n  title: Letters\n  send: Send\n  letter: A letter.\n',
};

test('a receipt is of the number that the message went to, and an end is not taken back', async () => {
  await using smsc = await startSmsc();
  await using dir = await writeProgram(letters);
  const sms = { USSD_PROGRAMS: dir.path, SMPP_LINKS: smsc.url, SMS_PROVIDER: 'smpp', SMS_FROM: 'Palaver' };
  await using service = await startService('sqlite', sms);
  await service.say('a', '1', { serviceCode: '*384*8#', phoneNumber: '+254700000005' });
  const read = async () => {
    const { messages } = (await (await service.get('/api/ussd/sms')).json()) as {
      messages: { status: string; receipt: string | null }[];
    };
    return messages[0];
  };
  await waitFor('the letter', async () => (await read())?.status === 'sent', 30_000);
  const receipt = async (source_addr: string, id: string, state: string) => {
    await smsc.deliver({ source_addr, esm_class: 4, short_message: `id:${id} stat:${state} err:000 text:` });
    return (await read())?.receipt ?? null;
  };
  expect(await receipt('254799999999', '1', 'UNDELIV')).toBeNull();
  expect(await receipt('254700000005', '', 'UNDELIV')).toBeNull();
  expect(await receipt('254700000005', '1', 'ENROUTE')).toBe('ENROUTE');
  expect(await receipt('0700000005', '1', 'DELIVRD')).toBe('DELIVRD');
  expect(await receipt('254700000005', '1', 'ACCEPTD')).toBe('DELIVRD');
});

test('a keyword that is delivered again is answered once', async () => {
  await using smsc = await startSmsc();
  await using dir = await writeProgram(letters);
  const sms = { USSD_PROGRAMS: dir.path, SMPP_LINKS: smsc.url, SMS_PROVIDER: 'smpp', SMS_FROM: 'Palaver' };
  await using service = await startService('sqlite', sms);
  const keyword = () => smsc.deliver({ short_message: 'letters' });
  for (const { command_status } of await Promise.all([keyword(), keyword(), keyword()])) expect(command_status).toBe(0);
  const { messages } = (await (await service.get('/api/ussd/sms')).json()) as { messages: unknown[] };
  expect(messages).toHaveLength(1);
});
