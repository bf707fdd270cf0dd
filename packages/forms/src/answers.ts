import type { FormHint, FormScreen, ScreenType } from '@palaver/program/internal';
import { searchAbove, toChoiceKey, toSearchable } from '@palaver/program/keys';
import { parseAnswer } from '@palaver/program/question';
import { holdInstances, RefusedAnswer, RepeatsChanged } from './repeats.ts';
import type { Stop } from './walk.ts';
import type { FormItem, FormNode, FormText } from './xforms.ts';

export function screenTypeOf(node: FormNode): ScreenType {
  const { nodeType, valueType, selectType, currentState } = node;
  if (nodeType === 'note' || currentState.readonly) return 'note';
  if (nodeType === 'select') return selectType === 'select' ? 'choices' : 'choice';
  if (nodeType === 'rank') return 'rank';
  if (nodeType === 'trigger') return 'accept';
  if (valueType === 'int') return 'integer';
  return valueType === 'decimal' || valueType === 'date' || valueType === 'time' || valueType === 'dateTime'
    ? valueType
    : 'text';
}

/** Gives a question an answer, or says why it cannot have it; the answer before stays then. */
export function answerQuestion(node: FormNode, input: string): FormHint | undefined {
  const type = screenTypeOf(node);
  const parsed = parseInput(node, type, input);
  if ('hint' in parsed) return parsed.hint;
  const before = readAnswer(node);
  // The engine makes the instances of a repeat that the answer counts before it looks at the constraint.
  const held = holdInstances(() => setAnswer(node, parsed.values));
  // The engine drops what its type does not take.
  const isTaken = readAnswer(node).length === parsed.values.length;
  const violation = node.validationState.violation;
  if (isTaken && !violation) {
    held.refuseTooMany();
    if (held.hasChanges) throw new RepeatsChanged();
    return undefined;
  }
  const hint = isTaken && violation ? toHint(violation) : { key: typeHintOf(type) };
  if (held.hasChanges) throw new RefusedAnswer(hint);
  setAnswer(node, before);
  return hint;
}

export function toHint({ condition, message }: NonNullable<FormNode['validationState']['violation']>): FormHint {
  const text = message?.asString.trim();
  if (text) return { text };
  return { key: condition === 'required' ? 'form.required' : 'form.refused' };
}

export function clearAnswer(node: FormNode): void {
  setAnswer(node, []);
}

export function readAnswer(node: FormNode): string[] {
  const { value } = node.currentState;
  if (Array.isArray(value)) return value.map(String);
  if (value === null || value === undefined || value === '' || value === false) return [];
  return [value === true ? 'OK' : String(value)];
}

export function canKeep(node: FormNode): boolean {
  return readAnswer(node).length > 0 && !node.validationState.violation;
}

/** A required note with a condition, its own or its group's, is meant to stop the caller. Without one it would stop everyone. */
export function forbids(note: FormNode): boolean {
  if (!note.validationState.violation) return false;
  for (let node: FormNode | null = note; node; node = node.parent) {
    if ((node.definition.bind.relevant.expression ?? always) !== always) return true;
    if (node.parent?.currentState.children?.some((other) => !silent.includes(other.nodeType))) return false;
  }
  return false;
}

const always = 'true()';
const silent = ['note', 'model-value'];

const emptyAsNull = ['int', 'decimal', 'date', 'time', 'dateTime'];

function setAnswer(node: FormNode, values: readonly string[]): void {
  if (node.nodeType === 'select') node.selectValues(values);
  else if (node.nodeType === 'rank') node.setValues(values);
  else if (node.nodeType === 'trigger') node.setValue(values.length > 0);
  // A text must not become `null` in the engine: every later expression over it would fail.
  else node.setValue(values[0] ?? (emptyAsNull.includes(node.valueType ?? '') ? null : ''));
}

const typeHints: Partial<Record<ScreenType, string>> = {
  text: 'hint.text',
  integer: 'hint.integer',
  decimal: 'hint.decimal',
  date: 'hint.date',
  time: 'form.timeHint',
  dateTime: 'form.dateTimeHint',
  choices: 'hint.choices',
  rank: 'form.rankHint',
};
const typeHintOf = (type: ScreenType) => typeHints[type] ?? 'hint.choice';

type Parsed = { values: string[] } | { hint: FormHint };

function parseInput(node: FormNode, type: ScreenType, input: string): Parsed {
  const refuse = (): Parsed => ({ hint: { key: typeHintOf(type) } });
  const take = (value: string | undefined): Parsed => (value === undefined ? refuse() : { values: [value] });
  switch (type) {
    case 'choice':
    case 'choices':
    case 'rank': {
      const values = parseChoices(node, type, input);
      return values ? { values } : refuse();
    }
    case 'accept':
      return take(input === '1' ? 'OK' : undefined);
    case 'time':
      return take(parseTime(input));
    case 'dateTime': {
      const [date = '', time = ''] = input.trim().split(/[\sT]+/);
      const [day, hour] = [parsePlain('date', date), parseTime(time)];
      return take(day !== undefined && hour !== undefined ? `${day}T${hour}` : undefined);
    }
    case 'integer':
    case 'decimal': {
      const value = parsePlain(type, input);
      const { start: min, end: max } = node.definition.bodyElement?.bounds ?? {};
      const isOut = value !== undefined && (Number(value) < Number(min) || Number(value) > Number(max));
      if (!isOut) return take(value);
      return { hint: { key: 'hint.range', values: { 'question.min': String(min), 'question.max': String(max) } } };
    }
    default:
      return take(parsePlain(type === 'date' ? 'date' : 'text', input));
  }
}

function parsePlain(type: 'text' | 'integer' | 'decimal' | 'date', input: string): string | undefined {
  const parsed = parseAnswer({ type }, input, { phoneNumber: '', today: '' });
  return parsed.ok ? parsed.value : undefined;
}

/** 1430, 14:30, 9.05 */
function parseTime(input: string): string | undefined {
  const [, hours = '', minutes = ''] = /^(\d{1,2})[:.hH]?(\d{2})$/.exec(input.trim()) ?? [];
  if (minutes === '' || Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return `${hours.padStart(2, '0')}:${minutes}:00.000`;
}

function parseChoices(node: FormNode, type: 'choice' | 'choices' | 'rank', input: string): string[] | undefined {
  const options = node.currentState.valueOptions ?? [];
  const byKey = new Map(options.map(({ value }, i) => [toChoiceKey(i), value]));
  // `13` is 1 and 3 where no choice has two digits.
  const keys = type === 'choice' || options.length > searchAbove ? input.match(/\d+/g) : input.match(/\d/g);
  if (!keys || /[^\d\s,.;-]/.test(input)) return undefined;
  const values = [...new Set(keys)].map((key) => byKey.get(key));
  const known = values.flatMap((value) => value ?? []);
  if (known.length !== values.length) return undefined;
  if (type === 'choice' && known.length !== 1) return undefined;
  return type === 'rank' && known.length !== options.length ? undefined : known;
}

/** Of a longer list only the first choices are shown; typing finds the others. */
const maxShown = 100;

export interface ScreenOptions {
  search?: string | undefined;
  hint?: FormHint | undefined;
}

export function toScreen(stop: Stop, { search, hint }: ScreenOptions): FormScreen {
  const { kind, node } = stop;
  const added = { ...(hint && { hint }) };
  if (kind === 'send') return { type: 'send', body: '', ...added };
  if (kind === 'another') {
    const { label, children } = node.currentState;
    return { type: 'another', body: toPlain(label), count: children?.length ?? 0, ...added };
  }
  const type = screenTypeOf(node);
  const { label, hint: help, required } = node.currentState;
  const lines = [...titlesOf(stop), toPlain(label), toPlain(help)].filter((line) => line !== '');
  const screen: FormScreen = { type, body: lines.join('\n'), ...added };
  if (type === 'note') return forbids(node) ? { ...screen, hint: { key: 'form.blocked' } } : screen;
  if (!required) screen.optional = true;
  const options = node.currentState.valueOptions;
  if (canKeep(node)) screen.answer = toAnswerText(node);
  if (!options) return screen;
  if (options.length === 0) screen.hint = { key: 'form.noChoices' };
  const wanted = toSearchable(search ?? '');
  const all = options.map((option, i) => ({ key: toChoiceKey(i), label: toLabel(option) }));
  screen.options = all.filter((option) => toSearchable(option.label).includes(wanted)).slice(0, maxShown);
  if (all.length > searchAbove) screen.isLong = true;
  return screen;
}

export function hasMatch(node: FormNode, search: string): boolean {
  const wanted = toSearchable(search);
  return (node.currentState.valueOptions ?? []).some((option) => toSearchable(toLabel(option)).includes(wanted));
}

function titlesOf({ sections, instances }: Stop): string[] {
  return sections.flatMap((section) => {
    const instance = instances.find(({ range, index }) => range.currentState.children?.[index] === section);
    const title = toPlain(section.currentState.label ?? instance?.range.currentState.label ?? null);
    if (!instance) return title === '' ? [] : [title];
    return [`${title} ${instance.index + 1}`.trim()];
  });
}

function toAnswerText(node: FormNode): string {
  const options = node.currentState.valueOptions;
  const values = readAnswer(node);
  if (!options) return values.join(' ').replace(/:00\.000.*$/, '');
  const chosen = values.flatMap((value) => options.find((option) => option.value === value) ?? []);
  return chosen.map(toLabel).join(', ');
}

function toLabel({ label, value }: FormItem): string {
  return toPlain(label) || value;
}

function toPlain(text: FormText | null): string {
  return (text?.asString ?? '')
    .replace(/<\/?[a-z][^>]*>/gi, '')
    .replace(/^#{1,6}\s+/gm, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\*\*|__/g, '')
    .trim();
}
