// ODK forms on a phone: every kind of question, a phone that changes its mind, and answers that survive whatever happens.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createForms } from '@palaver/forms/internal';
import type { FormSource } from '@palaver/program/internal';
import { createTempDir, createTestDatabase, engines, startProcess, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import type { StatsReport } from '../src/calls/read-stats.ts';
import { checkProgramFiles } from '../src/commands/check-programs.ts';
import { startService, type TestService, testKey } from './service-fixture.ts';

const fixtures = join(import.meta.dirname, 'forms');

const programYaml = (form = 'forms/every-kind.xml') => `
name: survey
codes: ["*384*9#"]
extends: palaver
languages: [en, fr]
start: home
states:
  home:
    kind: menu
    text: home.title
    options:
      - { text: home.survey, to: survey }
      - { text: home.resume, to: '@resume', when: resumable }
  survey: { kind: form, form: ${form}, take: { caller: name, people: people }, to: enough }
  enough: { kind: branch, when: [{ that: people > 20, to: many }], else: thanks }
  many: { kind: page, text: home.many }
  thanks: { kind: page, text: home.thanks }
`;

async function writeSurvey(form?: string) {
  const dir = await createTempDir();
  cpSync(fixtures, join(dir.path, 'forms'), { recursive: true });
  mkdirSync(join(dir.path, 'locales'));
  writeFileSync(join(dir.path, 'program.yaml'), programYaml(form));
  for (const language of ['en', 'fr'])
    writeFileSync(
      join(dir.path, 'locales', `${language}.yaml`),
      'home: { title: Survey, survey: Begin, resume: Continue, many: "A large house, {caller}.", thanks: "Thanks, {caller}." }\n',
    );
  return dir;
}

/** A caller whose inputs add up, as a telecom gateway sends them; a new dial begins when the text is full. */
function createCaller(service: TestService, phoneNumber: string) {
  let dials = 0;
  let text = '';
  const request = (at: TestService = service) =>
    at.say(`${phoneNumber}-${dials}`, text, { serviceCode: '*384*9#', phoneNumber });
  return {
    async press(input: string, at?: TestService) {
      text = text === '' ? input : `${text}*${input}`;
      return request(at);
    },
    again: (at?: TestService) => request(at),
    dial(at?: TestService) {
      dials++;
      text = '';
      return request(at);
    },
  };
}

test('a form with every kind of question is walked, with hints, skips, searches, repeats and pages, and stored once', async () => {
  await using dir = await writeSurvey();
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    DATA_ENCRYPTION_KEY: 'ab'.repeat(32),
  });
  const { press, again, dial } = createCaller(service, '+254700000001');
  await dial();
  expect(await press('1')).toBe('CON What is your name?\n0. Back\n*. Exit');
  expect(await press('Ana')).toBe('CON Welcome, Ana.\n1. Next\n0. Back\n*. Exit');
  expect(await press('1')).toBe('CON How many people live here?\nChildren too.\n00. Back\n*. Exit');
  expect(await press('31')).toMatch(/^CON From 0 to 30 people\.\nHow many/);
  expect(await press('two')).toMatch(/^CON Enter a whole number/);
  // Nobody lives there: the group about the house is not asked.
  expect(await press('0')).toMatch(/^CON When were you born\?\nEnter a date as .*\n000\. Skip\n0\. Back/);
  expect(await press('0')).toMatch(/^CON How many people.*000\. Keep: 0\n00\. Back/s);
  expect(await press('3')).toMatch(/^CON The house\nRooms\?\n000\. Keep: 2\n00\. Back/);
  expect(await press('000')).toMatch(/^CON Height in metres\?/);
  expect(await press('2,5')).toMatch(/^CON When were you born\?/);
  expect(await press('31122999')).toMatch(/^CON Not yet born\?/);
  expect(await press('31121990')).toMatch(/^CON When do you get up\?/);
  expect(await press('2561')).toMatch(/^CON Enter a time/);
  expect(await press('530')).toMatch(/^CON When were you visited\?/);
  await dial();
  expect(await again()).toContain('2. Continue');
  expect(await press('2')).toMatch(/^CON When were you visited\?/);
  expect(await press('01022026 1430')).toMatch(/^CON Which colour\?\n1\. Red\n2\. Blue\n0\. Back/);
  expect(await press('3')).toMatch(/^CON Not a choice/);
  expect(await press('1')).toMatch(
    /^CON Which crops\?\n\(several, e\.g\. 1 3\)\n1\. Maize\n2\. Beans\n3\. Rice\n000\. Skip/,
  );
  expect(await press('13')).toMatch(/^CON Which town\?\nOr type part of a name\.?\n1\. Kisumu/);
  expect(await press('gariss')).toMatch(/^CON Which town\?.*\n10\. Garissa\n0\. Back/s);
  expect(await press('10')).toMatch(/^CON Order them.*1\. Water\n2\. School\n3\. Road/s);
  expect(await press('31')).toMatch(/^CON Type all numbers/);
  expect(await press('312')).toMatch(/^CON How happy/);
  expect(await press('6')).toMatch(/^CON Enter a value from 1 to 5\./);
  expect(await press('4')).toMatch(/^CON We keep your answers\.\n1\. OK/);
  expect(await press('1')).toMatch(/^CON Add Child\?\n1\. Yes\n2\. No/);
  expect(await press('1')).toMatch(/^CON Child 1\nFirst name\?/);
  expect(await press('Ben')).toMatch(/^CON Age of Ben\?/);
  expect(await press('12')).toMatch(/^CON Add another Child\?/);
  expect(await press('1')).toMatch(/^CON Child 2/);
  expect(await press('0')).toMatch(/^CON Add another Child\?/);
  expect(await press('2')).toMatch(/^CON 1 older children\..*98\. More\n0\. Back/s);
  expect(await press('98')).toContain('1. Next');
  expect(await press('1')).toMatch(/^CON This is the end of the form\. Send it\?\n1\. Send\n0\. Back/);
  for (const reply of [await press('1'), await again()]) expect(reply).toMatch(/^CON Thanks, Ana\.\n0\. Back/);
  expect(await press('0')).toMatch(/^CON Survey/);
  await expectOneSubmission(service);
});

async function expectOneSubmission(service: TestService) {
  const { submissions } = (await (await service.get('/api/ussd/submissions?formId=every-kind')).json()) as {
    submissions: { instanceId: string; answers: Record<string, string> }[];
  };
  expect(submissions).toMatchObject([
    { formVersion: '2026111701', phoneNumber: '+254700000001', status: 'stored', answers: { 'child[1]/age': '12' } },
  ]);
  const id = submissions[0]?.instanceId ?? '';
  expect(id).toMatch(/^uuid:[\da-f-]{36}$/);
  const xml = await (await service.get(`/api/ussd/submissions/${encodeURIComponent(id)}`)).text();
  expect(xml.replaceAll(/<(start|end)>[\dT:.+-]+<\/\1>/g, '<$1>TIME</$1>').replace(id, 'ID')).toBe(
    '<data id="every-kind" version="2026111701"><start>TIME</start><end>TIME</end><name>Ana</name><intro/>' +
      '<people>3</people><house><rooms>2</rooms><height>2.5</height></house><born>1990-12-31</born>' +
      '<wakes>05:30:00.000</wakes><visited>2026-02-01T14:30:00.000</visited><colour>red</colour>' +
      '<crops>maize rice</crops><town>t9</town><order>road water school</order><level>4</level><agree>OK</agree>' +
      '<child><first>Ben</first><age>12</age></child><older>1</older><photo/><place/><thanks/>' +
      '<meta><instanceID>ID</instanceID></meta></data>',
  );
  expect(await (await service.get('/api/ussd/submissions?format=xml')).text()).toContain(`\n${xml}\n`);
  const [names = '', row = ''] = (await (await service.get('/api/ussd/submissions?format=csv')).text()).split('\r\n');
  expect(names).toMatch(/^instanceId,formId,formVersion,phoneNumber,createdAt,status,start,end,name,intro,people,/);
  expect(row).toContain(',Ana,,3,2,2.5,1990-12-31,');
  await fetch(`${service.url}/api/ussd/users/%2B254700000001`, { method: 'DELETE' });
  expect(await (await service.get('/api/ussd/submissions')).json()).toMatchObject({ submissions: [], forms: [] });
}

test.each(engines)('killed in the middle of a form, nothing is lost on %s', async (engine) => {
  await using database = await createTestDatabase(engine);
  await using dir = await writeSurvey('forms/short.xml');
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: dir.path,
    USSD_PROGRAMS: dir.path,
    PIN_ENCRYPTION_KEY: testKey,
  };
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const start = async () => {
    const running = startProcess(process.execPath, [main], { env: { ...env, PORT: '0' } });
    await running.printed(/listening on http:\S+/);
    return { running, url: /listening on (http:[^\s"]+)/.exec(running.output())?.[1] ?? '' };
  };
  const ask = async (url: string, text: string) => {
    const body = JSON.stringify({ sessionId: 'a', serviceCode: '*384*9#', phoneNumber: '+254700000001', text });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}/api/ussd`, { method: 'POST', headers, body })).text();
  };
  const before = await start();
  await ask(before.url, '');
  for (const text of ['1', '1*Ana', '1*Ana*2', '1*Ana*2*1']) await ask(before.url, text);
  before.running.kill('SIGKILL');
  await before.running.exited;
  const after = await start();
  expect(await ask(after.url, '1*Ana*2*1*Ben')).toMatch(/^CON Add another Child/);
  expect(await ask(after.url, '1*Ana*2*1*Ben*2')).toMatch(/^CON This is the end/);
  expect(await ask(after.url, '1*Ana*2*1*Ben*2*1')).toMatch(/^CON Thanks, Ana/);
  after.running.kill('SIGKILL');
  await after.running.exited;
  // The telecom gateway repeats the last answer.
  const last = await start();
  expect(await ask(last.url, '1*Ana*2*1*Ben*2*1')).toMatch(/^CON Thanks, Ana/);
  const list = (await (await fetch(`${last.url}/api/ussd/submissions`)).json()) as { submissions: unknown[] };
  expect(list.submissions).toMatchObject([{ answers: { name: 'Ana', people: '2', 'child[1]/first': 'Ben' } }]);
  last.running.kill('SIGTERM');
  expect(await last.running.exited).toBe(0);
});

test("a session stays on the version of its form, follows its caller's language, and is continued by any instance", async () => {
  await using dir = await writeSurvey('forms/short.xml');
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path, USSD_WATCH_MENUS: 'true' });
  const first = createCaller(service, '+254700000001');
  await first.dial();
  expect(await first.press('1')).toMatch(/^CON Your name/);
  const file = join(dir.path, 'forms/short.xml');
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('Your name?', 'Your full name?').replace('How many people?', 'How many of you?'),
  );
  const isNew = async () => {
    const caller = createCaller(service, `+2547${String(Math.random()).slice(2, 10)}`);
    await caller.dial();
    return (await caller.press('1')).startsWith('CON Your full name');
  };
  await waitFor('the new version', isNew);
  await using other = await service.startAnother({ USSD_LANGUAGE: 'fr' });
  expect(await first.press('Ana', other)).toMatch(/^CON How many people\?/);
  expect(await first.press('5')).toMatch(/^CON Add Child/);
  const french = createCaller(other, '+254700000002');
  await french.dial();
  expect(await french.press('1')).toMatch(/^CON Votre nom \?\n0\. Retour/);
  expect(await french.press('')).toMatch(/^CON Saisissez/);
});

test('what a keypad cannot answer, and what is no form, is a fault with its line', async () => {
  await using dir = await writeSurvey();
  const good = readFileSync(join(dir.path, 'forms/every-kind.xml'), 'utf8');
  const attachments = { 'towns.csv': readFileSync(join(dir.path, 'forms/towns.csv'), 'utf8') };
  await using forms = createForms();
  const faultsOf = async (xml: string) => (await forms.inspect({ xml, attachments })).faults;
  expect(await faultsOf(good)).toEqual([]);
  expect(await faultsOf(good.replace('type="binary"', 'type="binary" required="true()"'))).toEqual([
    {
      line: 55,
      question: '/data/photo',
      message: expect.stringContaining('/data/photo is required and asks for a photo'),
    },
  ]);
  const entity = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><h:html';
  for (const [broken, message] of [
    [good.replace('<h:html', entity), 'no document type declaration'],
    [good.replace('towns.csv', 'cities.csv'), 'there is no file cities.csv'],
    [good.replace('count(/data/child', 'count((/data/child'), 'count(('],
    [good.replace('</h:html>', ''), 'not XML'],
    [good.replace(/<data id="[^"]*"/, '<data'), 'the first element of its <instance> has no id'],
  ] as const)
    expect(await faultsOf(broken)).toEqual([{ line: 1, message: expect.stringContaining(message) }]);
  const report = async (yaml: string) => {
    writeFileSync(join(dir.path, 'program.yaml'), yaml);
    return (await checkProgramFiles({ folder: dir.path })).lines.join('\n');
  };
  expect(await report(programYaml())).toMatch(/^survey: .* no faults$/);
  expect(await report(programYaml('forms/every-kin.xml'))).toContain(
    'state survey: there is no file forms/every-kin.xml (did you mean forms/every-kind.xml?)',
  );
  expect(await report(programYaml().replace('people: people', 'people: poeple'))).toContain(
    'state survey: the form has no question poeple (did you mean people?)',
  );
});

test('a form whose expressions do not end is stopped, and other forms continue', async () => {
  const good = readFileSync(join(fixtures, 'short.xml'), 'utf8');
  const nested = `count(${'/data//*['.repeat(12)}1${']'.repeat(12)})`;
  const endless = good.replace('type="int"', `type="int" relevant="if(/data/name = 'x', ${nested}, 0) = 0"`);
  await using forms = createForms({ timeoutMs: 2_000, loadMs: 60_000 });
  const call = { language: 'en', phoneNumber: '+254700000001' };
  const [short, slow] = [good, endless].map((xml) => ({ xml, attachments: {} })) as [FormSource, FormSource];
  const answer = async (source: FormSource, input: string) => {
    const first = await forms.press(source, call);
    if (first.kind !== 'screen') throw new Error('the form shows nothing');
    return forms.press(source, { ...call, progress: first.progress, input });
  };
  const next = { kind: 'screen', screen: { body: 'How many people?' } };
  expect(await answer(slow, 'Ana')).toMatchObject(next);
  await expect(answer(slow, 'x')).rejects.toThrow('a form took too long');
  expect(await answer(short, 'Ana')).toMatchObject(next);
});

test('an optional text that is skipped stays empty, and what is computed from it continues', async () => {
  const good = readFileSync(join(fixtures, 'short.xml'), 'utf8');
  const xml = good
    .replace(/required="true\(\)"/g, '')
    .replace('type="int"', 'type="int" relevant="string-length(/data/name) = 0"');
  await using forms = createForms();
  const call = { language: 'en', phoneNumber: '+254700000001' };
  const source = { xml, attachments: {} };
  const first = await forms.press(source, call);
  if (first.kind !== 'screen') throw new Error('the form shows nothing');
  expect(await forms.press(source, { ...call, progress: first.progress, input: '000' })).toMatchObject({
    kind: 'screen',
    screen: { body: 'How many people?' },
  });
});

test('a required photo that the program waives is left out, and the submission says so', async () => {
  await using dir = await writeSurvey('forms/short.xml');
  const short = readFileSync(join(dir.path, 'forms/short.xml'), 'utf8')
    .replace('<people/>', '<people/><photo/>')
    .replace('</model>', '<bind nodeset="/data/photo" type="binary" required="true()"/></model>')
    .replace('</h:body>', '<upload ref="/data/photo" mediatype="image/*"><label>Photo</label></upload></h:body>');
  writeFileSync(join(dir.path, 'forms/short.xml'), short);
  const check = async () => (await checkProgramFiles({ folder: dir.path })).lines.join('\n');
  expect(await check()).toContain('make it optional, or leave it out with waive: [photo]');
  const waiving = programYaml('forms/short.xml').replace('take:', 'waive: [photo], take:');
  writeFileSync(join(dir.path, 'program.yaml'), waiving.replace('[photo]', '[foto]'));
  expect(await check()).toContain('photo is required');
  writeFileSync(join(dir.path, 'program.yaml'), waiving);
  expect(await check()).toMatch(/no faults/);
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  const caller = createCaller(service, '+254700000001');
  await caller.dial();
  for (const input of ['1', 'Ana', '3', '2']) await caller.press(input);
  expect(await caller.press('1')).toMatch(/^CON Thanks, Ana\./);
  const xml = await (await service.get('/api/ussd/submissions?format=xml')).text();
  expect(xml).toContain('palaver:waived="photo"');
});

test('how callers move through the questions of a form is counted beside its state', async () => {
  await using dir = await writeSurvey('forms/short.xml');
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  const caller = createCaller(service, '+254700000001');
  await caller.dial();
  for (const input of ['1', 'Ana', 'x', '00']) await caller.press(input);
  expect(await caller.press('*')).toMatch(/^END /);
  const reply = await service.get('/api/ussd/programs/survey/stats');
  const { states, languages } = (await reply.json()) as StatsReport;
  const find = (name: string) => states.find(({ state }) => state === name);
  expect(find('survey/data/name')).toMatchObject({ shown: 2, answered: 1, exited: 1 });
  expect(find('survey/data/people')).toMatchObject({ shown: 1, refused: 1, back: 1 });
  // Screens of questions are those of their state.
  const own = states.filter(({ state }) => !state.includes('/'));
  expect(languages).toMatchObject([{ shown: own.reduce((sum, { shown }) => sum + shown, 0) }]);
});

test('community health forms run: months between dates, and a group named meta', async () => {
  const good = readFileSync(join(fixtures, 'short.xml'), 'utf8');
  const xml = good.replace('<name/>', '<meta><created_by/></meta><name/><born>2024-02-29</born><age/>').replace(
    '</model>',
    `<bind nodeset="/data/age" type="string" calculate="difference-in-months( /data/born , '2026-02-28')"/>
      <bind nodeset="/data/meta/created_by" type="string" calculate="/data/name"/></model>`,
  );
  await using forms = createForms();
  const source = { xml, attachments: {} };
  expect((await forms.inspect(source)).faults).toEqual([]);
  const call = { language: 'en', phoneNumber: '+254700000001' };
  let reply = await forms.press(source, call);
  for (const input of ['Ana', '3', '2', '1']) {
    if (reply.kind !== 'screen') throw new Error(`the form ended before ${input}`);
    reply = await forms.press(source, { ...call, progress: reply.progress, input });
  }
  expect(reply).toMatchObject({
    kind: 'complete',
    submission: { instanceId: expect.stringMatching(/^uuid:/), answers: { age: '23', 'meta/created_by': 'Ana' } },
  });
});
