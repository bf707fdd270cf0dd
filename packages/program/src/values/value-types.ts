import { type CelInput, type CelValue, isCelList, isCelMap } from '@bufbuild/cel';
import type { QuestionType } from './keys.ts';

/** Values are kept as texts; their type says what an expression sees. */
export type ValueType = QuestionType | 'boolean' | 'list' | 'any';

const lengths: Partial<Record<ValueType, number>> = { integer: 16, decimal: 20, date: 10, phone: 16, boolean: 5 };
const assumedLength = 24;

export function longestOf(type: ValueType | undefined, length = (type && lengths[type]) ?? assumedLength): string {
  return (type === undefined || ['text', 'any', 'list'].includes(type) ? 'x' : '9').repeat(length);
}

export const longest = (texts: readonly string[]): string =>
  texts.reduce((one, other) => (other.length > one.length ? other : one), '');

/** A value as expressions see it. A missing one is empty: `''`, `0`, `false`, `[]`. */
export function toExpressionValue(text: string | undefined, type: ValueType): CelInput {
  if (type === 'integer') return /^-?\d+$/.test(text ?? '') ? BigInt(text as string) : 0n;
  if (type === 'decimal') return Number(text) || 0;
  if (type === 'boolean') return text === 'true';
  if (type === 'choices') return text ? text.split(' ') : [];
  if (type === 'list') return (parseJson(text) ?? []) as CelInput;
  if (type === 'any') return (parseJson(text) ?? text ?? '') as CelInput;
  return text ?? '';
}

/** Lists, records, numbers and booleans that came as JSON; `undefined` for any other text. */
export function parseJson(text: string | undefined): unknown {
  if (text === undefined || !/^(?:[[{]|-?\d{1,15}(?:\.\d+)?$|true$|false$)/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function fromExpressionValue(value: CelValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(Math.round(value * 1e6) / 1e6);
  return typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : JSON.stringify(toPlain(value));
}

function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (isCelList(value)) return [...value].map(toPlain);
  if (isCelMap(value)) return Object.fromEntries([...value].map(([key, inner]) => [String(key), toPlain(inner)]));
  return value;
}
