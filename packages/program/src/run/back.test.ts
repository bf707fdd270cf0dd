import { describe, expect, test } from 'vitest';
import { load as loadProgram } from '../../test/play-program.ts';
import { checkMenu } from '../check/check-program.ts';
import { type Step, toInput } from '../model/dialogue.ts';
import type { Menu, Registry } from '../model/menu.ts';
import { parseLocale, parseMenu } from '../parse/parse-menu.ts';
import { renderScreen } from '../show/render.ts';
import { openDialogue, takeInput, takeResult } from './engine.ts';

const registry: Registry = {
  actions: {
    deposit: { outcomes: ['done', 'wrong'], finishes: true },
    look: { outcomes: ['seen'], finishes: false },
  },
  validators: {
    number: {
      hints: ['hint.number'],
      check: (input) => (/^\d+$/.test(input) ? { ok: true, value: input } : { ok: false, hint: 'hint.number' }),
    },
    positive: {
      hints: ['hint.number'],
      check: (input) => (Number(input) > 0 ? { ok: true, value: input } : { ok: false, hint: 'hint.number' }),
    },
  },
  texts: [],
};

const locale = `
common: { more: More, back: Back, exit: Exit }
hint: { empty: Say something., choice: No such choice., number: A number. }
t: Text
kept: Kept
wrong: Wrong
bye: Bye
`;

const end = 'bye: { kind: end, text: bye }';
const deposit =
  'deposit: { kind: action, action: deposit, outcomes: { done: kept, wrong: { to: amount, hint: wrong } } }';
const amount = 'amount: { kind: prompt, text: t, validator: positive, save: amount, to: confirm }';
const confirm =
  'confirm: { kind: menu, text: t, options: [{ key: 1, text: t, to: deposit }, { key: 2, text: t, to: home }] }';
const kept = 'kept: { kind: page, text: kept }';

/** Forms of different shapes: what is typed to reach the action, and where Back must lead after it. */
const forms: Record<string, { states: string[]; inputs: string[]; above: string }> = {
  'a question and a confirmation menu': {
    states: ['home: { kind: menu, text: t, options: [{ key: 1, text: t, to: amount }] }', amount, confirm, deposit],
    inputs: ['1', '5', '1'],
    above: 'home',
  },
  'a confirmation menu alone': {
    states: [
      'home: { kind: menu, text: t, options: [{ key: 1, text: t, to: confirm }, { key: 2, text: t, to: amount }] }',
      confirm,
      amount,
      deposit,
    ],
    inputs: ['1', '1'],
    above: 'home',
  },
  'two confirmation menus after a question': {
    states: [
      'home: { kind: menu, text: t, options: [{ key: 1, text: t, to: amount }] }',
      amount,
      'confirm: { kind: menu, text: t, options: [{ key: 1, text: t, to: really }] }',
      'really: { kind: menu, text: t, options: [{ key: 1, text: t, to: deposit }] }',
      deposit,
    ],
    inputs: ['1', '5', '1', '1'],
    above: 'home',
  },
  'a menu between two questions': {
    states: [
      'home: { kind: menu, text: t, options: [{ key: 1, text: t, to: group }] }',
      'group: { kind: menu, text: t, options: [{ key: 1, text: t, to: first }] }',
      'first: { kind: prompt, text: t, validator: positive, save: first, to: which }',
      'which: { kind: menu, text: t, options: [{ key: 1, text: t, to: amount }] }',
      'amount: { kind: prompt, text: t, validator: positive, save: amount, to: deposit }',
      deposit,
    ],
    inputs: ['1', '1', '7', '1', '5'],
    above: 'group',
  },
  'a page and a look before a confirmation menu': {
    states: [
      'home: { kind: menu, text: t, options: [{ key: 1, text: t, to: look }, { key: 2, text: t, to: amount }] }',
      'look: { kind: action, action: look, outcomes: { seen: terms } }',
      'terms: { kind: page, text: t, options: [{ key: 1, text: t, to: confirm }] }',
      confirm,
      amount,
      deposit,
    ],
    inputs: ['1', '1', '1'],
    above: 'home',
  },
  'a first screen that is itself a question': {
    states: [
      'home: { kind: menu, text: t, options: [{ key: 1, text: t, to: group, set: { language: en } }] }',
      'group: { kind: menu, text: t, options: [{ key: 1, text: t, to: amount }] }',
      amount,
      confirm,
      deposit,
    ],
    inputs: ['1', '1', '5', '1'],
    above: 'group',
  },
};

function load(states: string[]): Menu {
  const source = `start: home\nexit: bye\nstates:\n${[...states, kept, end].map((line) => `  ${line}`).join('\n')}\n`;
  const check = checkMenu(
    { files: [parseMenu('m.yaml', source)], locales: [parseLocale('en.yaml', 'en', locale)] },
    registry,
  );
  if (!check.ok) throw new Error(JSON.stringify(check.faults));
  return check.menu;
}

function play(menu: Menu, inputs: string[]): { step: Step; deposits: number } {
  let step = openDialogue(menu, { language: 'en' });
  let deposits = 0;
  for (const part of inputs.keys()) {
    step = takeInput(menu, step.dialogue, toInput(inputs, part));
    while (step.pending) {
      const isDeposit = step.pending.action === 'deposit';
      if (isDeposit) deposits += 1;
      step = takeResult(menu, step.dialogue, { outcome: isDeposit ? 'done' : 'seen' });
    }
  }
  return { step, deposits };
}

describe('Back after a finished action leads to the menu above the form, never into its action again', () => {
  test.each(Object.entries(forms))('%s', (_, { states, inputs, above }) => {
    const menu = load(states);
    expect(play(menu, inputs).step.dialogue.state).toBe('kept');
    const back = play(menu, [...inputs, '0']);
    expect(back.step.dialogue.state).toBe(above);
    expect(back.step.dialogue.secrets).toEqual({});
    // Neither one choice nor a second Back and a choice runs the action without the form being filled in again.
    expect(play(menu, [...inputs, '0', '1']).deposits).toBe(1);
    expect(play(menu, [...inputs, '0', '0', '1']).deposits).toBe(1);
  });
});

describe('where 0 is a possible answer', () => {
  const menu = load([
    'home: { kind: menu, text: t, options: [{ key: 1, text: t, to: count }] }',
    'count: { kind: prompt, text: t, validator: number, save: count, to: amount }',
    amount,
    confirm,
    deposit,
  ]);
  const shown = (inputs: string[]) => renderScreen(menu, play(menu, inputs).step.dialogue).text;

  test('Back is 00 and the screen says so', () => {
    expect(shown(['1'])).toBe('Text\n00. Back\n*. Exit');
    expect(play(menu, ['1', '00']).step.dialogue.state).toBe('home');
  });

  test('0 is the answer, and Back is 0 again on the next screen', () => {
    const { dialogue } = play(menu, ['1', '0']).step;
    expect([dialogue.state, dialogue.values]).toEqual(['amount', { count: '0' }]);
    expect(shown(['1', '0'])).toContain('\n0. Back\n');
    expect(play(menu, ['1', '0', '0']).step.dialogue.state).toBe('count');
  });
});

describe('Back leads to the screen that was left', () => {
  const rows = Array.from({ length: 60 }, (_, i) => `${i + 1},Village number ${i + 1} of the district`).join('\n');
  const menu = loadProgram(
    `  home: { kind: menu, text: t, options: [{ text: t, to: code }, { text: t, to: village }, { text: t, to: sum }] }
  village: { kind: menu, text: t, from: { csv: data/villages.csv, text: name, save: { village: id } }, to: sum }
  code: { kind: prompt, text: t, type: text, secret: true, optional: true, save: code, to: pin }
  pin: { kind: prompt, text: t, type: choice, secret: true, save: pin, options: [{ text: t, value: a }, { text: t, value: b }], to: sum }
  sum: { kind: menu, text: t, options: [{ text: t, to: asking }, { text: t, to: bye }] }
  asking: { kind: call, flow: more, to: last }
  more: { kind: prompt, text: t, type: text, secret: true, save: code, to: done }
  done: { kind: return }
  last: { kind: page, text: t }
  bye: { kind: end, text: t }
`,
    't: Text\n',
    { 'data/villages.csv': `id,name\n${rows}\n` },
  );
  const at = (...inputs: string[]) => play(menu, inputs).step.dialogue;

  test('with its page and what was searched for', () => {
    const left = renderScreen(menu, at('2', '98', '98'));
    expect(left.text).toContain('Village number 10');
    expect(renderScreen(menu, at('2', '98', '98', '10', '0'))).toEqual(left);
    const found = renderScreen(menu, at('2', 'number 4'));
    expect(renderScreen(menu, at('2', 'number 4', '2', '0'))).toEqual(found);
    // From there Back leads on.
    expect(at('2', '98', '98', '10', '0', '0', '0', '0').state).toBe('home');
    expect(at('2', '98', '98', '10', '0', '98', '0').page).toBe(2);
  });

  test('with the secrets that were known there', () => {
    expect(at('1', 'x', '1').secrets).toEqual({ code: 1, pin: 2 });
    expect(at('1', 'x', '1', '0').secrets).toEqual({ code: 1 });
    expect(at('1', 'x', '1', '0', '0').secrets).toEqual({});
    expect(at('1', 'x', '1', '0', '0', '000').secrets).toEqual({});
    expect(at('1', 'x', '1', '1', 'y').secrets).toEqual({ code: 4, pin: 2 });
    expect(at('1', 'x', '1', '1', 'y', '0').secrets).toEqual({ code: 1, pin: 2 });
  });

  test('a secret choice leaves no trace but its place', () => {
    expect(at('1', 'x', '2').values).toEqual({});
  });
});
