// One program over every kind of link: the records at the end are the same.
import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { missingJsmpp, startCentre } from './jsmpp/start-centre.ts';
import { startService } from './service-fixture.ts';
import { startSmsc } from './smsc.ts';
import { writeProgram } from './write-program.ts';

const files = {
  'program.yaml': `
name: deposits
codes: ["*384*8#"]
keywords: [deposits]
extends: palaver
languages: [en]
start: home
records:
  deposit: { amount: integer, village: text }
states:
  home: { kind: menu, text: home.title, options: [{ text: home.deposit, to: amount }] }
  amount: { kind: prompt, text: home.amount, type: integer, min: 1, save: amount, to: village }
  village: { kind: prompt, text: home.village, type: text, save: village, to: keep }
  keep: { kind: action, store: deposit, fields: { amount: amount, village: village }, outcomes: { stored: thanks } }
  thanks: { kind: page, text: home.thanks }
`,
  'locales/en.yaml': `
home:
  title: Deposits
  deposit: New deposit
  amount: How much?
  village: Which village?
  thanks: Thank you.
`,
};

const inputs = ['1', '250', 'Kisumu'];
const read = ['Deposits', 'How much?', 'Which village?', 'Thank you.'];

const centres = ['its own package', 'JSMPP'] as const;
const cases = engines.flatMap((engine) => centres.map((centre) => ({ engine, centre })));

test.for(cases)(
  'a mapped form, JSON, XML and query, SMPP and texts by $centre, $engine',
  async ({ engine, centre }, { skip }) => {
    const isForeign = centre === 'JSMPP';
    if (isForeign && missingJsmpp) return skip(missingJsmpp);
    await using dir = await writeProgram(files);
    await using smsc = await startSmsc();
    await using foreign = isForeign
      ? await startCentre([
          ['*384*8#', ...inputs],
          ['deposits', ...inputs],
        ])
      : undefined;
    await using service = await startService(engine, {
      USSD_PROGRAMS: dir.path,
      SMPP_LINKS: foreign?.url ?? smsc.url,
      SMS_PROVIDER: 'smpp',
    });
    const send = async (path: string, type: string, body: string) =>
      (
        await fetch(`${service.url}/api/ussd${path}`, { method: 'POST', headers: { 'content-type': type }, body })
      ).text();
    const links: Record<string, (phone: string, input: string | undefined, i: number) => Promise<string>> = {
      form: (phone, _, i) =>
        send(
          '',
          'application/x-www-form-urlencoded',
          `${new URLSearchParams({ sessionId: 'f', serviceCode: '*384*8#', phoneNumber: `+${phone}`, text: inputs.slice(0, i).join('*') })}`,
        ),
      json: (phone, input = '*384*8#', i) =>
        send(
          '/nalo',
          'application/json',
          JSON.stringify({ USERID: 'X', MSISDN: phone, USERDATA: input, MSGTYPE: i === 0, SESSIONID: 'n' }),
        ),
      xml: (phone, input = '*384*8#', i) =>
        send(
          '/truroute',
          'text/xml',
          `<ussd><msisdn>${phone}</msisdn><sessionid>t</sessionid><type>${i === 0 ? 1 : 2}</type><msg>${input}</msg></ussd>`,
        ),
      async query(phone, input = '*384*8#', i) {
        const session_operation = i === 0 ? 'begin' : 'continue';
        const fields = {
          session_msisdn: phone,
          session_operation,
          session_msg: input,
          session_id: 'q',
          session_from: '*384*8#',
        };
        return (await fetch(`${service.url}/api/ussd/hollatags?${new URLSearchParams(fields)}`)).text();
      },
      ...(!foreign && {
        smpp: (phone, input = '*384*8#', i) =>
          smsc.press({ source_addr: phone, short_message: input, ussd_service_op: i === 0 ? 1 : 18 }),
        sms: (phone, input = 'deposits') => smsc.text({ source_addr: phone, short_message: input }),
      }),
    };
    const phones = Object.keys(links).map((_, n) => `25470000010${n}`);
    for (const [n, [name, press]] of Object.entries(links).entries()) {
      const screens: string[] = [];
      for (let i = 0; i <= inputs.length; i++) screens.push(await press(phones[n] ?? '', inputs[i - 1], i));
      expect(screens, name).toEqual(read.map((text) => expect.stringContaining(text)));
    }
    if (foreign) {
      expect(await foreign.finished()).toEqual({ doubled: 0, transcripts: [{ callers: 2, screens: read }] });
      phones.push('254710000000', '254710000001');
    }
    const stats = async () => {
      const response = await service.get('/api/ussd/programs/deposits/stats');
      return ((await response.json()) as { days: { calls: number; texting: number }[] }).days;
    };
    await waitFor('the counts', async () => (await stats())[0]?.calls === phones.length, 15_000);
    expect((await stats())[0]?.texting).toBe(1);
    const store = await openStore<UssdTables>(service.databaseUrl);
    await using _closed = { [Symbol.asyncDispose]: () => store.close() };
    const rows = await store.db
      .selectFrom('ussd_record')
      .select(['kind', 'fields', 'phone'])
      .orderBy('phone')
      .execute();
    expect(rows).toEqual(
      phones.map((phone) => ({
        kind: 'deposit',
        fields: JSON.stringify({ amount: 250, village: 'Kisumu' }),
        phone: `+${phone}`,
      })),
    );
  },
);
