// What operators do: their own menus, texts and actions, changed while the service runs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, searchDatabase, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startService } from './service-fixture.ts';
import { copyBundled, writeProgram } from './write-program.ts';

async function copySources() {
  const dir = await createTempDir();
  copyBundled(dir.path, 'mine');
  return {
    path: dir.path,
    locales: join(dir.path, 'locales'),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

function change(file: string, from: string, to: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
}

test('changed texts and menus are taken into use; faulty ones are not, and open sessions continue', async () => {
  await using own = await copySources();
  await using service = await startService('sqlite', { USSD_PROGRAMS: own.path, USSD_WATCH_MENUS: 'true' });
  expect(await service.say('open', '1')).toContain('About Palaver');
  change(join(own.locales, 'en.yaml'), 'Welcome to Palaver', 'Hello');
  await waitFor('the new text', async () => (await service.say(`a${Math.random()}`, '')).startsWith('CON Hello\n'));
  change(join(own.path, 'program.yaml'), 'to: about }', 'to: nowhere }');
  change(join(own.locales, 'en.yaml'), 'Hello', 'Good day');
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(await service.say('b', '')).toMatch(/^CON Hello\n/);
  change(join(own.path, 'program.yaml'), 'to: nowhere }', 'to: about }');
  await waitFor('the corrected menu', async () =>
    (await service.say(`c${Math.random()}`, '')).startsWith('CON Good day\n'),
  );
  expect(await service.say('open', '1*0')).toMatch(/^CON Welcome to Palaver\n/);
});

test('an action of one’s own is called by the menu, and runs once for a retry', async () => {
  await using own = await copySources();
  await using dir = await createTempDir();
  const actions = join(dir.path, 'actions.mjs');
  writeFileSync(
    actions,
    `let calls = 0;
     export const actions = { rainfall: { outcomes: ['ready'], finishes: false, async run({ phoneNumber }) {
       calls += 1;
       return { outcome: 'ready', values: { rain: String(calls), who: phoneNumber } };
     } } };`,
  );
  writeFileSync(
    join(own.path, 'rain.yaml'),
    'states:\n  rain: { kind: action, action: rainfall, outcomes: { ready: rainPage } }\n  rainPage: { kind: page, text: rain.page }\n',
  );
  change(join(own.path, 'program.yaml'), '- { key: 5,', '- { key: 6, text: rain.title, to: rain }\n      - { key: 5,');
  for (const language of ['en', 'fr', 'sw']) {
    change(
      join(own.locales, `${language}.yaml`),
      'common:',
      "rain: { title: Rain, page: '{rain} mm for {who}' }\ncommon:",
    );
  }
  await using service = await startService('sqlite', { USSD_PROGRAMS: own.path, USSD_ACTIONS: actions });
  expect(await service.say('a', '')).toContain('6. Rain');
  for (let i = 0; i < 3; i++) expect(await service.say('a', '6')).toContain('1 mm for +254700000001');
  expect(await service.say('b', '6')).toContain('2 mm');
});

test('an action reads what a secret answer means, as it does of any other: the value of a choice, not its key', async () => {
  await using dir = await createTempDir();
  const actions = join(dir.path, 'actions.mjs');
  writeFileSync(
    actions,
    `export const actions = { judge: { outcomes: ['ready'], finishes: false, async run({ answer }) {
       const right = answer('crop') === 'maize' && answer('day') === '2026-02-01' && answer('code') === '5';
       return { outcome: 'ready', values: { verdict: right ? 'right' : 'wrong' } };
     } } };`,
  );
  await using program = await writeProgram({
    'program.yaml': `name: vote\ncodes: ["*384*4#"]\nextends: palaver\nlanguages: [en]\nstart: home
states:
  home: { kind: menu, text: t.home, options: [{ text: t.a, to: day }] }
  day: { kind: prompt, text: t.day, type: date, secret: true, save: day, to: color }
  color: { kind: prompt, text: t.crop, type: choice, save: color, options: [{ text: t.a, value: beans }, { text: t.b, value: maize }], to: crop }
  crop:
    kind: prompt
    text: t.crop
    type: choice
    secret: true
    save: crop
    options: [{ text: t.a, value: beans, when: "color == 'beans'" }, { text: t.b, value: maize }]
    to: code
  code: { kind: prompt, text: t.code, type: text, secret: true, save: code, to: judge }
  judge: { kind: action, action: judge, outcomes: { ready: page } }
  page: { kind: page, text: t.page }
`,
    'locales/en.yaml':
      "t: { home: Home, day: Day, crop: Crop, a: Beans, b: Maize, code: Code, page: 'It is {verdict}.' }\n",
  });
  await using service = await startService('sqlite', { USSD_PROGRAMS: program.path, USSD_ACTIONS: actions });
  const say = (id: string, text: string) => service.say(id, text, { serviceCode: '*384*4#' });
  expect(await say('a', '1*01022026*2*1*5')).toContain('It is right.');
  expect(await say('b', '1*01022026*1*2*5')).toContain('It is right.');
  expect(await say('c', '1*01022026*1*1*5')).toContain('It is wrong.');
  expect(await searchDatabase(service.databaseUrl, ['2026-02-01', '01022026'])).toEqual([]);
});

test('a start with faulty menus stops with every fault', async () => {
  await using own = await copySources();
  change(join(own.path, 'program.yaml'), 'to: about }', 'to: nowhere }');
  change(join(own.locales, 'fr.yaml'), '  more: Suite\n', '');
  const start = startService('sqlite', { USSD_PROGRAMS: own.path });
  await expect(start).rejects.toThrow(
    /program\.yaml:11: state preMenu: leads to nowhere[\s\S]*fr\.yaml:1: the text common\.more/,
  );
  await expect(startService('sqlite', { USSD_LANGUAGE: 'xx' })).rejects.toThrow('USSD_LANGUAGE=xx');
});
