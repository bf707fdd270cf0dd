// Every list of the API document, read by a viewer, over a database with phone numbers in everything that people wrote.
import { addOperator } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { phoneNumber, register, startService } from './service-fixture.ts';
import { everythingElse, writeProgram } from './write-program.ts';

/** Of callers themselves, and of a stranger whom they mention. */
const subscribers = ['700000001', '711222333'];
const spellings = ['+254N', '254N', '00254N', '0N', 'N', '0M', '+254 M', 'a0N', '0.N', '+254N****'].flatMap((form) =>
  [' ', '-', ',', '_', ':', '*', '.', '/', '\n', '\u00ad', '    '].flatMap((sign) =>
    subscribers.map((digits) =>
      form.replace('N', digits).replace('M', [digits.slice(0, 3), digits.slice(3, 6), digits.slice(6)].join(sign)),
    ),
  ),
);
const words = ['Kisumu', ...new Set(spellings)];
const answers = JSON.stringify(
  Object.fromEntries(
    words.flatMap((word, i) => [
      [`q${i}`, word],
      [word, String(i)],
    ]),
  ),
);
const at = Date.parse('2026-11-17T10:00:00Z');

const program = {
  'everything/program.yaml': everythingElse,
  'market/program.yaml': `
name: market
codes: ["*384*9#"]
extends: palaver
languages: [en]
start: home
records: { order: { crop: text } }
states:
  home: { kind: menu, text: home, options: [{ text: go, to: ask }] }
  ask: { kind: prompt, text: ask, type: text, save: note, to: shown }
  shown: { kind: page, text: shown }
`,
  'market/locales/en.yaml': "home: Home\ngo: Go\nask: Note?\nshown: '{note}'\n",
};

async function fill(databaseUrl: string): Promise<void> {
  const store = await openStore<UssdTables>(databaseUrl);
  const common = { program: 'market', phone: phoneNumber, created_at: at };
  const sending = {
    ...common,
    attempts: 1,
    next_at: null,
    fault: words.join('; '),
    lease_until: 0,
    status: 'failed' as const,
  };
  await store.db
    .insertInto('ussd_record')
    .values({ ...common, id: 'r1', kind: 'order', fields: answers })
    .execute();
  const form = { form_id: 'visit', form_version: '1', answers, xml: `<data><a>${words.join('</a><a>')}</a></data>` };
  await store.db
    .insertInto('ussd_submission')
    .values({ ...sending, ...form, id: 'uuid:1' })
    .execute();
  await store.db
    .insertInto('ussd_sms')
    .values({ ...sending, id: 's1', caller: phoneNumber, body: answers })
    .execute();
  const claim = { collection: '1', content: answers, reward: null, checked_at: at, created_at: at };
  const outcome = { status: 'failed' as const, fault: sending.fault, phone: phoneNumber };
  await store.db
    .insertInto('ussd_claim')
    .values({ ...claim, ...outcome, id: 'c1', source: 'market:order:r1' })
    .execute();
  await store.close();
}

test('no reply to a viewer has a phone number in any spelling', async () => {
  await using dir = await createTempDir();
  await using folder = await writeProgram(program);
  const file = `${dir.path}/operators.json`;
  const viewer = { authorization: `Bearer ${addOperator(file, { name: 'vera', role: 'viewer' })}` };
  const claiming = { GATEWAY_URL: 'http://127.0.0.1:1', CLAIMS_COLLECTION: '1', CLAIMS_INTERVAL_SECONDS: '0' };
  await using service = await startService('sqlite', {
    OPERATORS_FILE: file,
    USSD_PROGRAMS: folder.path,
    ...claiming,
  });
  await register(service, 'r');
  expect(await service.say('report', '3*4*2.5*4071*1*Kisumu 0711 222 333*000*0700.000.001')).toMatch(/^CON/);
  expect(await service.say('open', '1*call 0711222333', { serviceCode: '*384*9#' })).toContain('0711222333');
  await fill(service.databaseUrl);

  const { paths } = (await (await service.get('/docs/json')).json()) as { paths: Record<string, object> };
  const values: Record<string, string[]> = {
    ...{
      phoneNumber: [phoneNumber],
      sessionId: ['open'],
      instanceId: ['uuid:1'],
      program: ['market'],
      kind: ['order'],
    },
    ...{
      source: ['records', 'forms', 'messages'],
      name: ['market', 'order', 'visit', 'sms'],
      version: ['market@000000000000'],
    },
  };
  const toUrls = (path: string): string[] => {
    const [whole, name = ''] = /\{(\w+)\}/.exec(path) ?? [];
    if (whole === undefined) return [path];
    return (values[name] ?? ['x']).flatMap((value) => toUrls(path.replace(whole, encodeURIComponent(value))));
  };
  const shown = new Set<string>();
  for (const [path, methods] of Object.entries(paths).filter(([, methods]) => 'get' in methods))
    for (const url of toUrls(path))
      for (const query of [
        '',
        '?format=csv',
        '?format=spreadsheet',
        '?format=xml',
        '?format=jsonl',
        '?status=failed',
        '?search=Kisumu',
      ]) {
        const response = await service.get(`${url}${query}`, viewer);
        const text = await response.text();
        expect([200, 400, 403, 404, 406], `${url}${query}: ${text.slice(0, 200)}`).toContain(response.status);
        const digits = text.replace(/\\n|[^\p{N}]/gu, '');
        for (const subscriber of subscribers)
          expect(digits, `${url}${query} ${Object.keys(methods)}`).not.toContain(subscriber);
        if (text.includes('Kisumu')) shown.add(path);
      }
  expect([...shown].toSorted()).toEqual([
    '/api/ussd/claims',
    '/api/ussd/programs/{program}/results/{source}/{name}',
    '/api/ussd/programs/{program}/results/{source}/{name}/summary',
    '/api/ussd/records/{program}/{kind}',
    '/api/ussd/reports',
    '/api/ussd/sms',
    '/api/ussd/submissions',
    '/api/ussd/submissions/{instanceId}',
  ]);
});
