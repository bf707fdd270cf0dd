import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { checkProgramFiles, drawProgramFiles } from './check-programs.ts';

test('the bundled menus have no faults and can be drawn in a language', async () => {
  expect(await checkProgramFiles({})).toMatchObject({
    ok: true,
    lines: [expect.stringMatching(/^palaver: every other code; \d+ states, languages en, fr, sw: no faults$/)],
  });
  const drawn = await drawProgramFiles({}, 'sw');
  expect(drawn.lines[0]).toContain('preMenu["preMenu: Karibu Palaver"]');
});

test('faults name file, line and state', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'program.yaml');
  writeFileSync(
    file,
    'name: small\nextends: palaver\nstart: a\nexit: b\nstates:\n  a: { kind: menu, text: main.title, options: [{ key: 1, text: main.about, to: c }] }\n  b: { kind: end, text: main.goodbye }\n',
  );
  expect(await checkProgramFiles({ folder: dir.path })).toMatchObject({
    ok: false,
    lines: [`${file}:6: state a: leads to c, which does not exist`],
  });
  expect((await drawProgramFiles({ folder: dir.path })).ok).toBe(false);
});

test('programs are checked and drawn by their folder; a missing one is a sentence', async () => {
  await using dir = await createTempDir();
  const folder = join(dir.path, 'small');
  mkdirSync(join(folder, 'locales'), { recursive: true });
  const source = (to: string) =>
    `name: small\ncodes: ["*384*5#"]\nextends: palaver\nlanguages: [en]\nstart: home\nstates:\n  home: { kind: menu, text: home, options: [{ text: main.about, to: ${to} }] }\n`;
  writeFileSync(join(folder, 'program.yaml'), source('about'));
  writeFileSync(join(folder, 'locales/en.yaml'), 'home: Home\n');
  expect(await checkProgramFiles({ folder: dir.path })).toMatchObject({
    ok: true,
    lines: ['small: *384*5#; 6 states, languages en: no faults'],
  });
  expect((await drawProgramFiles({ folder })).lines[0]).toContain('home["home: Home"]');
  writeFileSync(join(folder, 'program.yaml'), source('abuot'));
  expect(await checkProgramFiles({ folder })).toMatchObject({
    ok: false,
    lines: [
      `${join(folder, 'program.yaml')}:7: state home: leads to abuot, which does not exist (did you mean about?)`,
    ],
  });
  const none = join(dir.path, 'none');
  expect(await checkProgramFiles({ folder: none })).toMatchObject({
    ok: false,
    lines: [`${none}:1: there is no such file or folder`],
  });
});
