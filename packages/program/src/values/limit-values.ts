// Texts and lists double with each `v + v` and `[v, v]`: without a limit thirty of them need more memory than there is.
import { isCelList, isCelMap } from '@bufbuild/cel';

type Values = Readonly<Record<string, string>>;

/** Characters of one text. */
export const maxTextLength = 20_000;
/** The largest list or record in an expression, and all values of a dialogue together. */
const maxAllLength = 200_000;
/** The length of an answer. A value this short is always kept: a program has a limited number of names. */
const shortLength = 160;

/** The lengths of lists and records: one that is in several others is measured once. */
const lengths = new WeakMap<object, number>();

function measure(value: unknown): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  const known = lengths.get(value);
  if (known !== undefined) return known;
  let length = 1;
  if (isCelList(value)) for (const item of value) length += measure(item);
  else if (isCelMap(value)) for (const [key, item] of value) length += measure(key) + measure(item);
  else if (value instanceof Uint8Array) length += value.length;
  lengths.set(value, length);
  return length;
}

/** Joins two texts or lists, or throws where the result is too long. */
export function joinLimited<Value>(one: Value, other: Value, join: (one: Value, other: Value) => Value): Value {
  const length = measure(one) + measure(other);
  if (length > (typeof one === 'object' ? maxAllLength : maxTextLength)) throw new Error('too long');
  const joined = join(one, other);
  if (typeof joined === 'object' && joined !== null) lengths.set(joined, length);
  return joined;
}

/** The list or record itself, or an error where it is too long. */
export function refuseTooLong<Value>(made: Value): Value {
  if (measure(made) > maxAllLength) throw new Error('too long');
  return made;
}

/** The values with further ones. Those are empty where all together would be too long. */
export function addValues(values: Values, added: Values = {}): Values {
  const all = { ...values, ...added };
  for (const name in added)
    if ((added[name]?.length ?? 0) > shortLength && sumLengths(all) > maxAllLength) all[name] = '';
  return all;
}

function sumLengths(values: Values): number {
  let length = 0;
  for (const name in values) length += values[name]?.length ?? 0;
  return length;
}
