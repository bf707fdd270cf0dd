import { type CelInput, type CelValue, isCelList, isCelMap } from '@bufbuild/cel';

/** Values are kept as texts; their type says what an expression sees. */
export const valueTypes = [
  'text',
  'integer',
  'decimal',
  'date',
  'phone',
  'choice',
  'choices',
  'boolean',
  'list',
  'any',
] as const;
export type ValueType = (typeof valueTypes)[number];

/** A value in an expression. One that is not there yet is empty: `''`, `0`, `false`, `[]`. */
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
