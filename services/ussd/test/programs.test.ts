// Programs in folders: chosen by the service code, extended from the bundled one, and kept by version.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTempDir, engines, waitFor } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { startService } from './service-fixture.ts';
import { everythingElse } from './write-program.ts';

/** Ten lines are a program: everything it does not say is the bundled one's. */
const small = (title: string) => ({
  'program.yaml': `name: small
codes: ["*384*5#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home.title, options: [{ key: 1, text: home.about, to: about }, { key: 2, text: home.ask, to: page }] }
  page: { kind: page, text: home.page }
`,
  'locales/en.yaml': `home: { title: ${title}, about: About, ask: Page, page: The page of ${title} }\n`,
});

const alone = {
  'program.yaml': `name: alone
codes: ["*384*7#", "*385#"]
start: home
exit: bye
`,
  'states.yaml': `states:
  home: { kind: menu, text: home, options: [{ key: 1, text: bye, to: bye }] }
  bye: { kind: end, text: bye }
`,
  'locales/sw.yaml': `common: { more: Zaidi, back: Rudi, exit: Toka }
hint: { empty: Andika jibu., choice: Si chaguo. }
main: { expired: Muda umekwisha. }
home: Karibu
bye: Kwaheri
`,
};

async function writePrograms(programs: Record<string, Record<string, string>>) {
  const dir = await createTempDir();
  const write = (name: string, files: Record<string, string>) => {
    for (const [path, text] of Object.entries(files)) {
      const file = join(dir.path, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  };
  for (const [name, files] of Object.entries(programs)) write(name, files);
  return { path: dir.path, write, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const code = (serviceCode: string) => ({ serviceCode });

test('service codes choose a program, an extension too; an unknown code is refused in a sentence', async () => {
  await using programs = await writePrograms({ small: small('Small'), alone });
  await using service = await startService('sqlite', { USSD_PROGRAMS: programs.path });
  expect(await service.say('a', '', code('*384*5#'))).toMatch(/^CON Small\n1\. About/);
  expect(await service.say('b', '', code('*384*7#'))).toMatch(/^CON Karibu\n1\. Kwaheri/);
  expect(await service.say('c', '', code('*385#'))).toMatch(/^CON Karibu/);
  const refused = 'END This code is not in service. Please check it and dial again.';
  for (const unknown of ['*384#', '*384*9#', '*1234#']) {
    expect(await service.say(`u${unknown}`, '', code(unknown))).toBe(refused);
    expect(await service.say(`v${unknown}`, '1*2', code(unknown))).toBe(refused);
  }
  expect(await (await service.get('/metrics')).text()).toMatch(/ussd_requests_total\{[^}]*outcome="refused"[^}]*\} 6/);
});

test('what a program extends is there: states, texts, Back and Exit', async () => {
  await using programs = await writePrograms({ small: small('Small') });
  await using service = await startService('sqlite', { USSD_PROGRAMS: join(programs.path, 'small') });
  const say = (text: string) => service.say('a', text, code('*384*5#'));
  await say('');
  expect(await say('1')).toContain('About Palaver');
  expect(await say('1*0')).toMatch(/^CON Small/);
  expect(await say('1*0**')).toBe('END Thank you for using Palaver. Goodbye.');
});

test('a program without codes answers every other code, with no more than what it extends', async () => {
  await using programs = await writePrograms({ alone, everything: { 'program.yaml': everythingElse } });
  await using service = await startService('sqlite', { USSD_PROGRAMS: programs.path });
  expect(await service.say('a', '', code('*385#'))).toContain('Karibu');
  expect(await service.say('b', '', code('*1#'))).toContain('Welcome to Palaver');
});

test('faults of programs stop the start, each with its file and line', async () => {
  const broken = small('Broken');
  await using programs = await writePrograms({
    small: small('Small'),
    broken: {
      ...broken,
      'program.yaml': broken['program.yaml'].replace('name: small', 'name: broken').replace('to: about', 'to: abuot'),
    },
    twice: { ...alone, 'program.yaml': alone['program.yaml'].replace('name: alone', 'name: twice') },
    alone,
    lost: { ...alone, 'program.yaml': 'name: lost\ncodes: ["*9#"]\nlanguages: [fr]\nstart: home\nexit: bye\n' },
  });
  const fault = await startService('sqlite', { USSD_PROGRAMS: programs.path }).then(String, (error) => error.message);
  expect(fault).toMatch(
    /broken\/program\.yaml:7: state home: leads to abuot, which does not exist \(did you mean about\?\)/,
  );
  expect(fault).toMatch(/twice\/program\.yaml:1: \*384\*7# belongs to .*alone\/program\.yaml/);
  expect(fault).toMatch(/lost\/program\.yaml:3: there is no file locales\/fr\.yaml/);
  const missing = await startService('sqlite', { USSD_PROGRAMS: join(programs.path, 'none') }).then(String, String);
  expect(missing).toContain('none:1: there is no such file or folder');
});

describe.each(engines)('versions on %s', (engine) => {
  test('a session ends on the version it began with: after a change, on another instance and after a restart', async () => {
    await using programs = await writePrograms({ small: small('Old') });
    await using service = await startService(engine, { USSD_PROGRAMS: programs.path, USSD_WATCH_MENUS: 'true' });
    await service.say('a', '', code('*384*5#'));
    await service.say('b', '', code('*384*5#'));
    programs.write('small', small('New'));
    await waitFor('the new version', async () =>
      (await service.say(`n${Math.random()}`, '', code('*384*5#'))).startsWith('CON New'),
    );
    expect(await service.say('a', '2', code('*384*5#'))).toMatch(/^CON The page of Old\n/);
    // It has never loaded the old version from files.
    await using other = await service.startAnother();
    expect(await other.say('a', '2*0', code('*384*5#'))).toMatch(/^CON Old\n/);
    // Its state is not known there either: the text is replayed on the version the session began with.
    expect(await other.say('b', '2*0*2', code('*384*5#'))).toMatch(/^CON The page of Old\n/);
    expect(await other.say('c', '', code('*384*5#'))).toMatch(/^CON New\n/);
  });

  test('a program with faults stays as it was while the others are renewed', async () => {
    await using programs = await writePrograms({ small: small('Old'), alone });
    await using service = await startService(engine, { USSD_PROGRAMS: programs.path, USSD_WATCH_MENUS: 'true' });
    programs.write('small', { 'program.yaml': 'name: small\nstart: home\n' });
    programs.write('alone', { 'locales/sw.yaml': alone['locales/sw.yaml'].replace('Karibu', 'Hujambo') });
    await waitFor('the new version', async () =>
      (await service.say(`n${Math.random()}`, '', code('*385#'))).startsWith('CON Hujambo'),
    );
    expect(await service.say('a', '', code('*384*5#'))).toMatch(/^CON Old\n/);
    rmSync(join(programs.path, 'alone'), { recursive: true });
    programs.write('small', small('New'));
    await waitFor('the program is gone', async () =>
      (await service.say(`g${Math.random()}`, '', code('*385#'))).startsWith('END This code'),
    );
    expect(await service.say('d', '', code('*384*5#'))).toMatch(/^CON New\n/);
  });
});
