import { translate } from '../model/locales.ts';
import type { Menu, State } from '../model/menu.ts';
import { cellsOf } from '../states/from.ts';
import type { PromptState } from '../states/prompt.ts';
import { kindOf } from '../states/states.ts';
import type { Question } from '../values/question.ts';
import type { ValueType } from '../values/value-types.ts';

/** The length assumed for a text without a limit. */
const assumedText = 24;
const nameLength = 40;

const lengths: Partial<Record<ValueType, number>> = { integer: 16, decimal: 20, date: 10, phone: 16, boolean: 5 };

/** The longest value that a placeholder can have in a language. */
export function longestValue(menu: Menu, name: string, language: string): string {
  const [head = '', field] = name.split('.');
  const found = writersOf(menu, head).flatMap((state) =>
    field === 'label' ? labelsOf(menu, state, head, language) : valuesOf(menu, state, head, language),
  );
  const longest = found.reduce((one, other) => (other.length > one.length ? other : one), '');
  if (longest !== '') return longest;
  const type = field === undefined ? (menu.types.get(head) ?? (head === 'today' ? 'date' : undefined)) : undefined;
  return fill(type, (type && lengths[type]) ?? assumedText);
}

/** The states that set a value, by its name; computed once per menu. */
const writers = new WeakMap<Menu, Map<string, State[]>>();

function writersOf(menu: Menu, name: string): readonly State[] {
  const known = writers.get(menu) ?? new Map<string, State[]>();
  if (!writers.has(menu)) {
    writers.set(menu, known);
    for (const state of menu.states.values()) {
      for (const given of namesOf(menu, state)) {
        const others = known.get(given);
        if (others) others.push(state);
        else known.set(given, [state]);
      }
    }
  }
  return known.get(name) ?? [];
}

/** Values of actions, forms and computations have only their type. */
function namesOf(menu: Menu, state: State): Set<string> {
  if (state.kind !== 'prompt' && state.kind !== 'menu' && state.kind !== 'page') return new Set();
  return new Set(Array.from(kindOf(state).gives?.(state, menu) ?? [], ([name]) => name));
}

function labelsOf(menu: Menu, state: State, name: string, language: string): string[] {
  const say = (keys: string[]) => keys.map((key) => translate(menu.locales, language, key));
  if (state.kind === 'prompt' && state.save === name) {
    const all = say(state.question?.options?.map(({ text }) => text) ?? []);
    return state.question?.type === 'choices' ? [all.join(', ')] : all;
  }
  if (state.kind !== 'menu' && state.kind !== 'page') return [];
  if (state.kind === 'menu' && state.from && Object.hasOwn(state.from.save, name))
    return cellsOf(menu, state.from, state.from.text, language);
  return say(state.options.filter(({ set = {} }) => Object.hasOwn(set, name)).map(({ text }) => text));
}

/** Values with a limit of their own; those of actions have only their type. */
function valuesOf(menu: Menu, state: State, name: string, language: string): string[] {
  if (state.kind === 'prompt' && state.save === name) return [longestAnswer(state)];
  if (state.kind === 'menu' && state.from && Object.hasOwn(state.from.save, name))
    return cellsOf(menu, state.from, state.from.save[name] ?? '', language);
  if (state.kind !== 'menu' && state.kind !== 'page') return [];
  return state.options.flatMap(({ set = {} }) => (Object.hasOwn(set, name) ? (set[name] ?? []) : []));
}

function longestAnswer({ question, validator }: PromptState): string {
  if (!question)
    return validator === 'amount' ? fill('decimal', 13) : fill('text', validator === 'name' ? nameLength : assumedText);
  const { type, options = [], length, max } = question;
  if (type === 'choice') return options.reduce((one, { value }) => (value.length > one.length ? value : one), '');
  if (type === 'choices') return options.map(({ value }) => value).join(' ');
  if (type === 'text') return fill(type, length?.max ?? assumedText);
  return fill(type, max === undefined ? (lengths[type] ?? assumedText) : lengthOfNumber(question));
}

function lengthOfNumber({ type, min = 0, max = 0 }: Question): number {
  if (type === 'date') return 10;
  return Math.max(String(min).length, String(max).length) + (type === 'decimal' ? 7 : 0);
}

function fill(type: ValueType | undefined, length: number): string {
  return (type === undefined || ['text', 'any', 'list'].includes(type) ? 'x' : '9').repeat(length);
}

/** Whether callers type the value freely, so that it may be in any script. */
export function isTyped(menu: Menu, name: string): boolean {
  return writersOf(menu, name).some(
    (state) =>
      state.kind === 'prompt' && (state.question ? state.question.type === 'text' : state.validator === 'name'),
  );
}
