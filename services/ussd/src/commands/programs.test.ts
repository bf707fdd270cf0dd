// From an empty folder to a tested program, by what the commands call.
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { writeProgram } from '../../test/write-program.ts';
import { checkProgramFiles } from './check-programs.ts';
import { formatFlow } from './flow.ts';
import { importForm } from './import-form.ts';
import { writeNewProgram } from './new-program.ts';
import { publishFolder } from './publish-programs.ts';
import { runProgram } from './run-program.ts';
import { testPrograms } from './test-programs.ts';

/** The environment of a service in production. Whatever of it reached a try-out would keep it from starting. */
const production = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  DATABASE_READ_URL: 'postgres://127.0.0.1:1/none',
  REDIS_URL: 'redis://127.0.0.1:1',
  SERVICE_CODES: '*9#',
  USSD_ALLOWED_IPS: '192.0.2.1',
  USSD_MAX_IN_FLIGHT: 'none',
  SMS_PROVIDER: 'twilio',
  CLAIMS_COLLECTION: '1',
  USSD_SIGNING_KEY: 'no key',
  DATA_ENCRYPTION_KEY: 'no key',
  OTEL_ENABLED: 'perhaps',
};

function edit(file: string, from: string, to: string) {
  const text = readFileSync(file, 'utf8');
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
}

test('a new program passes its check and its test; what is recorded is a test too, without its secrets', async () => {
  await using dir = await createTempDir();
  const folder = join(dir.path, 'farm-line');
  await writeNewProgram({ folder, code: '*7*1#' });
  await expect(writeNewProgram({ folder })).rejects.toThrow('is not empty');
  await expect(writeNewProgram({ folder: join(dir.path, 'Farm') })).rejects.toThrow('small letters');
  expect(await checkProgramFiles({ folder })).toMatchObject({
    ok: true,
    lines: ['farm-line: *7*1#; 9 states, languages en, fr, sw: no faults'],
  });
  expect(await testPrograms({ folder })).toMatchObject({
    ok: true,
    lines: [expect.stringMatching(/^ok {4}/)],
  });

  // An account of the program it extends: its PIN is in no file.
  edit(
    join(folder, 'program.yaml'),
    'to: message }\n',
    'to: message }\n      - { text: account.register, to: askName }\n',
  );
  const input = Readable.from(['3\n', 'Ana\n', '407192\n', '407192\n', '*\n']);
  const { steps } = await runProgram({ folder, env: production, input, output: new PassThrough() });
  const file = join(folder, 'flows/register.yaml');
  writeFileSync(file, formatFlow({ name: 'Registering', steps }));
  expect(readFileSync(file, 'utf8')).toContain('{{pin}}');
  expect(readFileSync(file, 'utf8')).not.toMatch(/407192|phoneNumber/);
  edit(join(folder, 'flows/message.yaml'), '3. Language', '3. Register\n      4. Language');
  expect(await testPrograms({ folder })).toMatchObject({
    ok: true,
    lines: [expect.stringMatching(/^ok {4}.*message\.yaml: /), expect.stringMatching(/^ok {4}.*register\.yaml: /)],
  });
  edit(file, 'What is your name?', 'Who are you?');
  writeFileSync(join(folder, 'flows/no-flow.yaml'), 'steps: 5');
  expect(await testPrograms({ folder })).toMatchObject({
    ok: false,
    lines: [
      expect.stringMatching(/^ok/),
      expect.stringMatching(/^FAIL .*no-flow\.yaml: This is not a flow file: name is missing; /),
      expect.stringMatching(/^FAIL .*Registering: step 2 \(sent "3"\)\n--- expected\nCON Who are you\?/),
    ],
  });
});

test('a dialogue says what servers answer; what it does not answer fails the test and is not asked', async () => {
  await using dir = await createTempDir();
  const folder = join(dir.path, 'prices');
  for (const path of ['locales', 'flows']) mkdirSync(join(folder, path), { recursive: true });
  const state = (name: string, text: string) => `  ${name}: { kind: page, text: ${text} }\n`;
  writeFileSync(
    join(folder, 'program.yaml'),
    `name: prices\nextends: palaver\nlanguages: [en]\nstart: home\nstates:
  home: { kind: menu, text: home, options: [{ text: ask, to: ask }, { text: fee, to: fee }] }
  fee: { kind: action, protocol: /ixo/fee/maize, take: { price: $.fee.price }, outcomes: { ok: show, missing: none, failed: later } }
  ask: { kind: action, http: { get: "https://prices.invalid/maize" }, take: { price: $.price }, outcomes: { ok: show, missing: none, failed: later } }
${state('show', 'show')}${state('none', 'none')}${state('later', 'later')}`,
  );
  writeFileSync(
    join(folder, 'locales/en.yaml'),
    'home: Prices\nask: Maize\nfee: Fee\nshow: "{price} a kilo"\nnone: None\nlater: Later\n',
  );
  const flow = (http: string, reply: string, key = 1) =>
    `name: x\n${http}steps:\n  - { dial: "*384#", reply: "CON Prices\\n1. Maize\\n2. Fee\\n*. Exit" }\n  - { send: ${key}, reply: "CON ${reply}\\n0. Back\\n*. Exit" }\n`;
  const answer = (rest: string) => `http: [{ get: https://prices.invalid/maize, ${rest} }]\n`;
  writeFileSync(join(folder, 'flows/a.yaml'), flow(answer('json: { price: 42 }'), '42 a kilo'));
  writeFileSync(join(folder, 'flows/b.yaml'), flow(answer('status: 404'), 'None'));
  writeFileSync(join(folder, 'flows/c.yaml'), flow('', 'Later'));
  const paid = (rest: string) => `protocol: [{ path: /ixo/fee/maize, ${rest} }]\n`;
  writeFileSync(join(folder, 'flows/d.yaml'), flow(paid('json: { fee: { price: 7 } }'), '7 a kilo', 2));
  writeFileSync(join(folder, 'flows/e.yaml'), flow(paid('status: 404'), 'None', 2));
  writeFileSync(join(folder, 'flows/f.yaml'), flow(paid('status: 500'), 'Later', 2));
  writeFileSync(join(folder, 'flows/g.yaml'), flow('', 'Later', 2));
  expect(await testPrograms({ folder })).toMatchObject({
    ok: false,
    lines: [
      expect.stringMatching(/^ok .*a\.yaml/),
      expect.stringMatching(/^ok .*b\.yaml/),
      expect.stringMatching(
        /^FAIL .*c\.yaml: x: the program asks GET https:\/\/prices\.invalid\/maize, and http: has no answer/,
      ),
      expect.stringMatching(/^ok .*d\.yaml/),
      expect.stringMatching(/^ok .*e\.yaml/),
      expect.stringMatching(/^ok .*f\.yaml/),
      expect.stringMatching(
        /^FAIL .*g\.yaml: x: the program asks the protocol for \/ixo\/fee\/maize, and protocol: has no answer/,
      ),
    ],
  });
});

test('a form becomes a program, or a state of one', async () => {
  await using dir = await createTempDir();
  const folder = join(dir.path, 'survey');
  const fixtures = join(import.meta.dirname, '../../test/forms');
  cpSync(fixtures, join(dir.path, 'from'), { recursive: true });
  expect((await importForm({ form: join(dir.path, 'from/every-kind.xml'), folder })).lines[0]).toContain(
    'forms/every-kind.xml, forms/towns.csv',
  );
  const { lines } = await importForm({ form: join(dir.path, 'from/short.xml'), folder });
  expect(lines[1]).toBe('Lead to it from a menu: - { text: short.title, to: short }');
  edit(join(folder, 'program.yaml'), 'options:\n', 'options:\n      - { text: short.title, to: short }\n');
  expect((await checkProgramFiles({ folder })).lines.join('\n')).toMatch(
    /^survey: \*384\*9#; 8 states, .*: no faults$/,
  );
  // What is refused leaves the program as it was.
  writeFileSync(join(folder, 'forms/short.xml'), 'mine');
  await expect(importForm({ form: join(dir.path, 'from/short.xml'), folder })).rejects.toThrow('exists already');
  expect(readFileSync(join(folder, 'forms/short.xml'), 'utf8')).toBe('mine');
  writeFileSync(join(dir.path, 'broken.xml'), '<h:html');
  expect(await importForm({ form: join(dir.path, 'broken.xml'), folder })).toMatchObject({
    ok: false,
    lines: [expect.stringContaining('broken.xml:1: this is not XML')],
  });
  await expect(importForm({ form: join(dir.path, 'none.xlsx'), folder })).rejects.toThrow('there is no such file');
});

const field = {
  'program.yaml': `name: field
codes: ["*7*3#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: t.home, options: [{ text: t.plant, to: trees }, { text: t.ask, to: question }] }
  trees: { kind: prompt, text: t.trees, type: integer, min: 1, save: trees, to: file }
  file: { kind: action, claim: planting, fields: { trees: trees }, outcomes: { filed: filed, refused: no, unavailable: no } }
  filed: { kind: end, text: t.filed }
  question: { kind: prompt, text: t.question, type: text, save: question, to: askIt }
  askIt: { kind: action, assistant: question, save: said, outcomes: { answered: said, waiting: wait, unavailable: no } }
  said: { kind: end, text: t.said }
  wait: { kind: menu, text: t.wait, options: [{ text: t.ask, to: look }] }
  look: { kind: action, action: showAnswer, outcomes: { answered: later, waiting: wait, unavailable: no } }
  later: { kind: end, text: t.later }
  no: { kind: end, text: t.no }
`,
  'locales/en.yaml': `t: { home: Field, plant: Plant, ask: Ask, trees: Trees?, filed: 'Filed {reference}', question: Question?, said: '{said}', wait: Wait, later: '{answer}', no: Not now }
`,
};

test('a dialogue says what the assistant answers and which claims are filed', async () => {
  await using dir = await writeProgram(field);
  const play = async (flow: string) => {
    mkdirSync(join(dir.path, 'flows'), { recursive: true });
    writeFileSync(join(dir.path, 'flows/one.yaml'), `name: One\n${flow}`);
    return (await testPrograms({ folder: dir.path })).flows.map(({ fault }) => fault ?? 'ok').join();
  };
  const dial = `steps:\n  - { dial: '*7*3#', reply: "CON Field\\n1. Plant\\n2. Ask\\n*. Exit" }\n`;
  const plant = `${dial}  - { send: '1', reply: "CON Trees?\\n0. Back\\n*. Exit" }\n  - { send: '12', reply: 'END Filed {{reference}}' }\n`;
  expect(await play(plant)).toBe('ok');
  expect(await play(`claims: [{ claim: planting, fields: { trees: 12 } }]\n${plant}`)).toBe('ok');
  expect(await play(`claims: []\n${plant}`)).toMatch(
    /^the claims differ\n--- expected\n\[\]\n--- filed\n- claim: planting/,
  );

  const ask = (reply: string) =>
    `${dial}  - { send: '2', reply: "CON Question?\\n0. Back\\n*. Exit" }\n  - { send: Rain?, reply: "${reply}" }\n`;
  expect(await play(`assistant: [{ question: Rain?, answer: Tomorrow. }]\n${ask('END Tomorrow.')}`)).toBe('ok');
  expect(await play(`assistant: [{ question: Rain? }]\n${ask('END Not now')}`)).toBe('ok');
  expect(
    await play(
      `assistant: [{ question: Rain?, answer: Tomorrow., late: true }]\n${ask('CON Wait\\n1. Ask\\n0. Back\\n*. Exit')}  - { send: '1', reply: END Tomorrow. }\n`,
    ),
  ).toBe('ok');
  expect(await play(ask('END Not now'))).toBe('the program asks the assistant "Rain?", and assistant: has no answer');
});

test('a claim of a program that is dialled is shown and recorded, and filed nowhere', async () => {
  await using dir = await writeProgram(field);
  const output = new PassThrough();
  const { claims } = await runProgram({
    folder: dir.path,
    env: production,
    input: Readable.from(['1\n', '3\n']),
    output,
  });
  expect(claims).toEqual([{ claim: 'planting', fields: { trees: 3 } }]);
  expect(output.read().toString()).toContain('Claim planting (not really filed): {"trees":3}');
});

test('a file that is too large is named, with its size and the limit', async () => {
  await using dir = await writeProgram({ ...field, 'data/markets.csv': 'x'.repeat(2_000_001) });
  expect((await checkProgramFiles({ folder: dir.path })).lines.join()).toMatch(
    /markets\.csv.*: has 2000001 bytes: a file has at most 2000000$/,
  );
});

const asking = (url: string) => ({
  'program.yaml': `
name: prices
codes: ["*7*2#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home, options: [{ text: go, to: ask }] }
  ask: { kind: action, http: { get: "${url}" }, take: { price: $.price }, outcomes: { ok: send, missing: none, failed: none } }
  send: { kind: action, sms: { text: message }, outcomes: { queued: shown, refused: none } }
  shown: { kind: page, text: shown }
  none: { kind: page, text: none }
`,
  'locales/en.yaml': `home: Home\ngo: Go\nnone: None.\nshown: 'Maize {price}'\nmessage: 'Maize {price} on {today}'\n`,
});

test('what servers answer is recorded; a test is updated, placeholders in its messages count, and publishing asks for it', async () => {
  const server = createServer((_, response) => response.end('{ "price": 42 }')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using dir = await createTempDir();
  await using source = await writeProgram(asking(`http://${host}/maize`));
  const folder = join(dir.path, 'prices');
  cpSync(source.path, folder, { recursive: true });
  const env = { USSD_HTTP_ALLOWED_HOSTS: host };
  const input = Readable.from(['1\n', '*\n']);
  const flow = await runProgram({ folder, env, input, output: new PassThrough() });
  server.close();
  expect(flow.http).toEqual([{ get: `http://${host}/maize`, status: 200, json: { price: 42 } }]);
  const file = join(folder, 'flows/price.yaml');
  mkdirSync(join(folder, 'flows'));
  writeFileSync(file, `# Kept.\n${formatFlow({ name: 'A price', ...flow })}`);
  edit(file, new Date().toISOString().slice(0, 10), '{{day}}');
  expect(await testPrograms({ folder })).toMatchObject({ ok: true });

  edit(join(folder, 'locales/en.yaml'), "shown: 'Maize", "shown: 'Today maize");
  edit(join(folder, 'locales/en.yaml'), "message: 'Maize", "message: 'Maize is");
  expect(await testPrograms({ folder })).toMatchObject({ ok: false });
  const database = { DATABASE_URL: `file:${join(dir.path, 'p.db')}`, DATA_DIR: dir.path };
  await expect(publishFolder(database, { folder })).rejects.toThrow(
    /Today maize 42[\s\S]*1 of 1 tests fail, so the program is not published/,
  );
  expect(await publishFolder(database, { folder, skipTests: true })).toMatch(/^prices@/);
  expect(await testPrograms({ folder }, { update: true })).toMatchObject({
    ok: true,
    lines: [expect.stringMatching(/^new /)],
  });
  expect(readFileSync(file, 'utf8')).toMatch(/^# Kept\.[\s\S]*Today maize 42/);
  expect(await testPrograms({ folder })).toMatchObject({ ok: true, lines: [expect.stringMatching(/^ok /)] });
  expect(await publishFolder(database, { folder })).toMatch(/^prices@/);
});
