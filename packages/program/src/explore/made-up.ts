import { type Dialogue, toInput } from '../model/dialogue.ts';
import { todayOf } from '../model/evaluate.ts';
import type { Menu } from '../model/menu.ts';
import type { ActionResult } from '../run/engine.ts';
import { choosableOptions } from '../show/render.ts';
import { type ActionState, signatureOf } from '../states/action.ts';
import { isSearchable } from '../states/from.ts';
import { type PromptState, validateAnswer } from '../states/prompt.ts';
import { reservedKeys } from '../values/keys.ts';
import type { Question } from '../values/question.ts';
import type { ValueType } from '../values/value-types.ts';
import { around, type Constants, type Place, phoneNumber, type Walk } from './walk.ts';

const account = 'explored';
const logins: Record<string, Record<string, string | null>> = {
  register: { registered: account },
  logIn: { in: account },
  logOut: { out: null },
};
const variants = 3;

export function resultsOf(menu: Menu, state: ActionState, constants: Constants): ActionResult[] {
  const signature = signatureOf(state, menu.registry);
  const given = Object.entries(signature?.values ?? {});
  return Object.keys(state.outcomes).flatMap((outcome) => {
    const login = logins[state.action]?.[outcome];
    const toValue = (variant: number, [name, type]: [string, ValueType], place: number) => {
      const { spec } = state;
      if (spec && 'find' in spec && name === spec.save)
        return outcome === 'none' ? '[]' : toRows(toRecordRow(menu, spec.find, variant), variant);
      if (spec && 'total' in spec && outcome === 'none') return type === 'any' ? '' : '0';
      const number = toNumber(variant, place);
      const samples = samplesOf(type, number, constants);
      if (type !== 'list' && type !== 'any') return samples[variant % samples.length] ?? '';
      const fields = fieldsOf(menu, name);
      if (fields.length === 0) return [number, number, 'a text from elsewhere'][variant] ?? '';
      const toCell = (field: string) => [field, variant === 1 ? `${field} as text` : 12];
      return toRows(Object.fromEntries(fields.map(toCell)), variant);
    };
    const isUsed = [...menu.expressions.values()].some(({ names }) => given.some(([name]) => names.includes(name)));
    return Array.from({ length: isUsed ? variants : 1 }, (_, variant) => ({
      outcome,
      values: Object.fromEntries(given.map((value, place) => [value[0], toValue(variant, value, place)])),
      ...(login !== undefined && { account: login }),
    }));
  });
}

/** Each value of a result has a place of its own, so no two of them are equal. */
const toNumber = (variant: number, place: number) => String(variant === 1 ? 900 - place : 12 + place);

const toRows = (row: object, variant: number) =>
  JSON.stringify(Array.from({ length: variant === 2 ? 12 : variant + 1 }, () => row));

function samplesOf(type: ValueType, number: string, { numbers, texts }: Constants): string[] {
  if (type === 'integer' || type === 'decimal') return [number, number, ...around(numbers), '0'];
  if (type === 'boolean') return ['true', 'false'];
  if (type === 'date') return ['2026-01-31'];
  return type === 'phone' ? ['+254700000002'] : ['Ana Wanjiru of Kisumu', ...texts, 'x'.repeat(24)];
}

function toRecordRow(menu: Menu, kind: string, variant: number) {
  const samples: Record<string, unknown> = {
    text: 'Maize',
    integer: 12 * (variant + 1),
    decimal: 1250.5 * (variant + 1),
    date: '2026-01-31',
    phone: '+254700000002',
    boolean: variant === 1,
  };
  const fields = Object.entries(menu.records[kind] ?? {}).map(([name, type]) => [name, samples[type]]);
  return { ...Object.fromEntries(fields), id: '0123456789abcdef', phone: '+254700000001', date: '2026-01-31' };
}

/** The fields of a list's rows, as far as the program names them: in menus made of it, in loops, in expressions. */
function fieldsOf(menu: Menu, name: string): string[] {
  const fields = new Set<string>();
  const sources = [...menu.expressions.keys()];
  const isOf = (source: string) => menu.expressions.get(source)?.names.includes(name) ?? false;
  const take = (variable: string, texts: readonly string[]) => {
    for (const text of texts)
      for (const [, field = ''] of text.matchAll(new RegExp(`\\b${variable}\\.(\\w+)\\b(?!\\()`, 'g')))
        fields.add(field);
  };
  for (const state of menu.states.values()) {
    if (state.kind === 'menu' && state.from?.list !== undefined && isOf(state.from.list)) {
      for (const field of [state.from.text, ...Object.values(state.from.save)]) fields.add(field);
      take('row', sources);
    }
    if (state.kind === 'each' && isOf(state.list))
      take(state.as, [...sources, ...Array.from(menu.locales.values(), (texts) => [...texts.values()]).flat()]);
  }
  for (const source of sources.filter(isOf))
    for (const [, variable = ''] of source.matchAll(/\.(?:map|filter|exists|exists_one|all)\(\s*(\w+)\s*,/g))
      take(variable, [source]);
  return [...fields];
}

const mostAnswers = 5;
const mostRows = 4;
const unknownKey = '77';

export function inputsFor(walk: Walk, place: Place): ReturnType<typeof answersFor> {
  const { menu } = walk;
  const { dialogue } = place;
  const state = menu.states.get(dialogue.state);
  if (state?.kind === 'prompt') return answersFor(walk, place, state);
  const keys = choosableOptions(menu, dialogue).map(({ key }) => key);
  if (state?.kind !== 'menu' || !state.from) return { taken: keys, refused: ['', unknownKey], tried: 0 };
  const [first, last] = [keys.slice(0, mostRows - 1), keys.slice(-1)];
  const found = isSearchable(menu, state.from, dialogue)
    ? [choosableOptions(menu, dialogue)[0]?.label?.slice(0, 3) ?? '']
    : [];
  return { taken: [...new Set([...first, ...last, ...found])], refused: ['', '0x'], tried: 0 };
}

function answersFor(walk: Walk, { dialogue, typed }: Place, state: PromptState) {
  const { menu, samples, constants } = walk;
  const candidates = state.question ? typedAnswers(walk, dialogue, state.question) : plainAnswers(typed);
  const taken = new Map<string, string>();
  const refused = new Map<string, string>([['hint.empty', '']]);
  const all = [...new Set([...candidates, ...samples, ...around(constants.numbers)])];
  for (const value of all) {
    if (value === '' || value.includes(reservedKeys.exit)) continue;
    const result = validateAnswer(menu, dialogue, state, toInput([...typed, value], typed.length));
    if (!result.ok) refused.set(result.hint, value);
    else if (taken.size < mostAnswers && ![...taken.values()].includes(result.value)) taken.set(value, result.value);
  }
  const skip = state.optional ? [reservedKeys.skip] : [];
  return {
    taken: [...taken.keys(), ...skip],
    refused: state.optional ? [...refused.values()].slice(1) : [...refused.values()],
    tried: all.length,
  };
}

/** For validators by name: what was typed last is the answer to "again, please". */
function plainAnswers(typed: readonly string[]): string[] {
  const answers = ['Ana Wanjiru', '407192', '583920', '12', '2.5', 'What is the price of maize?', 'x'.repeat(40)];
  return [typed.at(-1) ?? '', ...answers];
}

function typedAnswers({ constants, textsMatching }: Walk, dialogue: Dialogue, question: Question): string[] {
  const { min, max, options = [], length } = question;
  const numbers = around(constants.numbers);
  const today = todayOf(dialogue);
  switch (question.type) {
    case 'integer':
    case 'decimal':
      return [min, max, ...numbers, 1, 0, 12, 100].filter((limit) => limit !== undefined).map(String);
    case 'date':
      return [min, max, 'today', '1990-01-01', '2030-12-31'].map((date = '') => String(date).replace('today', today));
    case 'phone':
      return ['0712345678', phoneNumber, '+254700000002'];
    case 'choice':
      return options.map((_, i) => String(i + 1));
    case 'choices':
      return [options.map((_, i) => i + 1).join(' '), ...options.map((_, i) => String(i + 1)), '1 2'];
    default: {
      const matching = question.pattern === undefined ? [] : textsMatching(question.pattern);
      const lengths = [length?.max ?? 160, length?.min ?? 1].map(toText);
      return [...matching, 'Ana', ...constants.texts, ...lengths, 'A1', 'AB-123', '12345'];
    }
  }
}

const toText = (length: number) => 'maize and beans '.repeat(10).slice(0, length).replace(/ $/, 's');
