// An action whose answers nobody was asked for fails for every caller: the check says so, with what to lead to instead.

import { checkProgram, formatFault } from '@palaver/program/internal';
import { expect, test } from 'vitest';
import { defaultSignatures } from '../src/actions/default-signatures.ts';
import { bundledProgram, toRegistry } from '../src/catalog/bundled-program.ts';
import { readProgramSource } from '../src/catalog/read-source.ts';

const base = await readProgramSource(bundledProgram);

function check(states: string): string[] {
  const files = {
    'program.yaml': `name: p\nextends: palaver\nlanguages: [en]\nstart: home\nstates:\n${states}`,
    'locales/en.yaml': 't: { home: Home, go: Go, ask: Ask, page: Page }\n',
  };
  const source = {
    name: 'p',
    files: Object.entries(files).map(([path, text]) => ({ file: `p/${path}`, path, text })),
  };
  const checked = checkProgram(source, toRegistry(defaultSignatures), base);
  return checked.ok ? [] : checked.faults.map(formatFault);
}

const home = (to: string) => `  home:
    kind: menu
    text: t.home
    options:
      - { text: t.go, to: ${to} }
`;
const needsPin = 'the action logIn of the state logIn needs the answer pin';

test.each([
  ['leads to the bundled action', home('logIn'), 'p/program.yaml:10: state home: ', 'lead to askPin instead'],
  [
    'leads to the action by a page',
    `${home('page')}  page: { kind: page, text: t.page, options: [{ text: t.go, to: logIn }] }\n`,
    'p/program.yaml:11: state page: ',
    'lead to askPin instead',
  ],
  [
    'saves the PIN under another name',
    `${home('ask')}  ask: { kind: prompt, text: t.ask, validator: pin, save: code, secret: true, to: logIn }
  logIn: { kind: action, action: logIn, outcomes: { in: page, wrong: ask, locked: page } }
  page: { kind: page, text: t.page }\n`,
    'p/program.yaml:11: state ask: ',
    'ask for it first, with "save: pin"',
  ],
])('a program that %s', (_, states, place, remedy) => {
  expect(check(states)).toEqual([expect.stringMatching(new RegExp(`^${place}${needsPin}: ${remedy}`))]);
});

test('a login state that is the action itself', () => {
  const states = `${home('page')}  page: { kind: page, text: t.page, requires: authenticated }\n`;
  expect(check(states)).toEqual([]);
  const [fault] = check(`${states}login: logIn\n`);
  expect(fault).toBe(`p/program.yaml:11: state page: ${needsPin}: lead to askPin instead, which asks for it`);
});

test('what was asked before, what may be asked in a sub-flow, and conditions are no faults', () => {
  const logIn = `  logIn: { kind: action, action: logIn, outcomes: { in: page, wrong: ask, locked: page } }
  page: { kind: page, text: t.page }
`;
  const ask = (to: string) =>
    `  ask: { kind: prompt, text: t.ask, validator: pin, save: pin, secret: true, to: ${to} }\n`;
  expect(
    check(`${home('ask')}${ask('between')}  between: { kind: set, values: { x: '1' }, to: logIn }\n${logIn}`),
  ).toEqual([]);
  expect(
    check(
      `${home('sub')}  sub: { kind: call, flow: ask, to: logIn }\n${ask('back')}  back: { kind: return }\n${logIn}`,
    ),
  ).toEqual([]);
  expect(
    check(
      `${home('ask').replace('to: ask', 'to: logIn, when: "today != \\"\\""').replace('options:', 'options:\n      - { text: t.go, to: ask }')}${ask('logIn')}${logIn}`,
    ),
  ).toEqual([]);
});
