import { type Dialogue, toInput } from '../model/dialogue.ts';
import { todayOf } from '../model/evaluate.ts';
import type { Menu } from '../model/menu.ts';
import type { ActionResult } from '../run/engine.ts';
import { choosableOptions } from '../show/render.ts';
import { type ActionState, signatureOf } from '../states/action.ts';
import { isSearchable } from '../states/from.ts';
import { type PromptState, validateAnswer } from '../states/prompt.ts';
import type { Question } from '../states/question.ts';
import { type QuestionType, reservedKeys } from '../values/keys.ts';
import type { ValueType } from '../values/value-types.ts';

export interface Known {
  menu: Menu;
  samples: readonly string[];
  textsMatching(pattern: string): readonly string[];
  constants: Constants;
}

export interface Place {
  dialogue: Dialogue;
  typed: readonly string[];
}

/** What the expressions of a program compare with: answers on both sides of each are worth trying. */
export interface Constants {
  numbers: readonly number[];
  texts: readonly string[];
}

const most = 12;

export function readConstants(sources: Iterable<string>): Constants {
  const numbers = new Set<number>();
  const texts = new Set<string>();
  for (const source of sources) {
    for (const [, text = ''] of source.matchAll(/["']([^"'\\]{1,40})["']/g)) texts.add(text);
    for (const [number] of source.replace(/["'][^"']*["']/g, '').matchAll(/(?<![\w.])\d{1,9}(?:\.\d+)?/g))
      numbers.add(Number(number));
  }
  return { numbers: [...numbers].slice(0, most), texts: [...texts].slice(0, most) };
}

export function around(numbers: readonly number[]): string[] {
  return numbers.flatMap((number) => [number, number + 1, number - 1].map(String));
}

export const phoneNumber = '+254700000001';

const logins: Record<string, Record<string, string | null>> = {
  register: { registered: 'explored' },
  logIn: { in: 'explored' },
  logOut: { out: null },
};
const variants = 3;

export function resultsOf(menu: Menu, state: ActionState, constants: Constants): ActionResult[] {
  const given = Object.entries(signatureOf(state, menu.registry)?.values ?? {});
  return Object.keys(state.outcomes).flatMap((outcome) => {
    const account = logins[state.action]?.[outcome];
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
    return Array.from({ length: isUsed ? variants : 1 }, (_, variant) => {
      const values = given.map((value, place) => [value[0], toValue(variant, value, place)]);
      return { outcome, values: Object.fromEntries(values), account };
    });
  });
}

/** Different for each value of a result, so that no two are equal. */
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

export function inputsFor(known: Known, place: Place): ReturnType<typeof answersFor> {
  const { menu } = known;
  const { dialogue } = place;
  const state = menu.states.get(dialogue.state);
  if (state?.kind === 'prompt') return answersFor(known, place, state);
  const options = choosableOptions(menu, dialogue);
  const keys = options.map(({ key }) => key);
  if (state?.kind !== 'menu' || !state.from) return { taken: keys, refused: ['', unknownKey], tried: 0 };
  const found = isSearchable(menu, state.from, dialogue) ? [options[0]?.label?.slice(0, 3) ?? ''] : [];
  const taken = new Set([...keys.slice(0, mostRows - 1), ...keys.slice(-1), ...found]);
  return { taken: [...taken], refused: ['', '0x'], tried: 0 };
}

function answersFor(known: Known, { dialogue, typed }: Place, state: PromptState) {
  const { menu, samples, constants } = known;
  const candidates = state.question ? typedAnswers(known, dialogue, state.question) : plainAnswers(typed);
  const taken = new Map<string, string>();
  const refused = new Map<string, string>([['hint.empty', '']]);
  const all = [...new Set([...candidates, ...samples, ...around(constants.numbers)])];
  for (const value of all) {
    if (value === '' || value.includes(reservedKeys.exit)) continue;
    const result = validateAnswer(menu, dialogue, state, toInput([...typed, value], typed.length));
    if (!result.ok) refused.set(result.hint, value);
    else if (taken.size < mostAnswers && ![...taken.values()].includes(result.value)) taken.set(value, result.value);
  }
  const tried = all.length;
  if (!state.optional) return { taken: [...taken.keys()], refused: [...refused.values()], tried };
  return { taken: [...taken.keys(), reservedKeys.skip], refused: [...refused.values()].slice(1), tried };
}

/** For prompts with a validator. The last input again is the answer to "again, please". */
function plainAnswers(typed: readonly string[]): string[] {
  const answers = ['Ana Wanjiru', '407192', '583920', '12', '2.5', 'What is the price of maize?', 'x'.repeat(40)];
  return [typed.at(-1) ?? '', ...answers];
}

function typedAnswers({ constants, textsMatching }: Known, dialogue: Dialogue, question: Question): string[] {
  const { type, min, max, options = [], length, pattern } = question;
  const limits = [min, max].flatMap((limit) => (limit === undefined ? [] : String(limit)));
  const numbers = [...limits, ...around(constants.numbers), '1', '0', '12', '100'];
  const dates = [...limits, 'today', '1990-01-01', '2030-12-31'].map((date) =>
    date.replace('today', todayOf(dialogue)),
  );
  const keys = options.map((_, i) => String(i + 1));
  const matching = pattern === undefined ? [] : textsMatching(pattern);
  const lengths = [length?.max ?? 160, length?.min ?? 1].map(toText);
  const answers: Record<QuestionType, string[]> = {
    integer: numbers,
    decimal: numbers,
    date: dates,
    phone: ['0712345678', phoneNumber, '+254700000002'],
    choice: keys,
    choices: [keys.join(' '), ...keys, '1 2'],
    text: [...matching, 'Ana', ...constants.texts, ...lengths, 'A1', 'AB-123', '12345'],
  };
  return answers[type];
}

const toText = (length: number) => 'maize and beans '.repeat(10).slice(0, length).replace(/ $/, 's');
