// A program may have its own words for what the service says between screens.
import { checkProgram } from '@palaver/program/internal';
import { expect, test } from 'vitest';
import { defaultSignatures } from '../src/actions/default-signatures.ts';
import { bundledProgram, toRegistry } from '../src/catalog/bundled-program.ts';
import { readProgramSource } from '../src/catalog/read-source.ts';

const base = await readProgramSource(bundledProgram);
const states = `name: p
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home, options: [{ text: home, to: ask }] }
  ask: { kind: prompt, text: home, type: integer, min: 1, max: 9, save: x, to: page }
  page: { kind: page, text: home }
`;

function check(key: string, text: string) {
  const files = { 'program.yaml': states, 'locales/en.yaml': `home: Home\nmain: { ${key}: ${text} }\n` };
  const list = Object.entries(files).map(([path, content]) => ({ file: path, path, text: content }));
  const checked = checkProgram({ name: 'p', files: list }, toRegistry(defaultSignatures), base);
  return (checked.ok ? checked.warnings : checked.faults).map(({ message }) => message);
}

test.each(['expired', 'callLow', 'callFull', 'textSecret', 'textFull'])('main.%s is used', (key) => {
  expect(check(key, 'Short')).toEqual([]);
});

test.each(['expired', 'callFull'])('main.%s must fit one screen', (key) => {
  expect(check(key, 'x'.repeat(200))).toEqual([`the text main.${key} does not fit one screen in en: shorten it`]);
});

test('main.callLow is shown above questions, so it must fit with them', () => {
  const long = 'the question home with the hint main.callLow does not fit one screen in en: shorten it';
  expect(check('callLow', 'x'.repeat(180))).toContain(long);
});
