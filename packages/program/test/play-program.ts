// Programs of one file of states and one of texts, checked and played without a service.
import { expect } from 'vitest';
import { checkProgram } from '../src/check/check-program.ts';
import { type Step, toInput } from '../src/model/dialogue.ts';
import type { Menu, Registry } from '../src/model/menu.ts';
import { openDialogue, takeInput, takeResult } from '../src/run/engine.ts';
import { renderScreen } from '../src/show/render.ts';
import { formatFault } from '../src/values/fault.ts';

const registry: Registry = {
  actions: {
    load: { outcomes: ['done'], finishes: false, values: { members: 'list', rate: 'decimal' } },
    undeclared: { outcomes: ['done'], finishes: false },
  },
  validators: {},
  texts: [],
};

const common = `
common: { more: More, back: Back, exit: Exit, skip: Skip, search: Or type. }
hint: { noMatch: No match., empty: Empty., choice: No choice., text: A text., integer: A whole number., decimal: A number., date: A date., phone: A phone., choices: Numbers., range: '{question.min} to {question.max}.', atLeast: 'From {question.min}.', atMost: 'Up to {question.max}.', dateFrom: 'After {question.min}.', dateUntil: 'Until {question.max}.', length: '{question.min} to {question.max} characters.', count: '{question.min} to {question.max} of them.' }
`;

export function check(states: string, texts: string, data: Record<string, string> = {}) {
  const files = [
    { file: 'p/program.yaml', path: 'program.yaml', text: 'name: p\nstart: home\nexit: bye\n' },
    { file: 'p/states.yaml', path: 'states.yaml', text: `states:\n${states}` },
    { file: 'p/locales/en.yaml', path: 'locales/en.yaml', text: `${common}${texts}` },
  ];
  for (const [path, text] of Object.entries(data)) files.push({ file: `p/${path}`, path, text });
  const source = { name: 'p', files };
  return checkProgram(source, registry, source);
}

export function load(states: string, texts: string, data?: Record<string, string>) {
  const checked = check(states, texts, data);
  if (!checked.ok) throw new Error(checked.faults.map(formatFault).join('\n'));
  return checked.menu;
}

export function faultsOf(states: string, texts: string, data?: Record<string, string>): string[] {
  const checked = check(states, texts, data);
  return checked.ok ? [] : checked.faults.map(formatFault);
}

/** Dials, sends the inputs, and gives the last screen. */
export function play(menu: Menu, inputs: string[], results: Record<string, string>[] = [], language = 'en'): string {
  const caller = { phoneNumber: '+254700000001', now: Date.parse('2026-11-17T10:00:00Z') };
  let step: Step = openDialogue(menu, { language }, caller);
  for (const part of inputs.keys()) {
    step = takeInput(menu, step.dialogue, toInput(inputs, part));
    while (step.pending) step = takeResult(menu, step.dialogue, { outcome: 'done', values: results.shift() ?? {} });
  }
  const { text, ended } = renderScreen(menu, step.dialogue);
  expect(ended).toBe(step.ended);
  return text;
}
