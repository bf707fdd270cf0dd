import { parseJson } from '../values/value-types.ts';

/** Texts by language and key. Every language has the same keys: the loader refuses anything else. */
export type Locales = ReadonlyMap<string, ReadonlyMap<string, string>>;

export type Values = Readonly<Record<string, string>>;

const placeholder = /\{([a-zA-Z][\w.]*)\}/g;

/** The longest text with its values, and the longest screen with its choices. Sixty screens are 11,000 characters. */
export const maxShownLength = 12_000;

export function translate(
  locales: Locales,
  language: string,
  key: string,
  values: Values = {},
  today = () => '',
): string {
  const text = locales.get(language)?.get(key) ?? locales.values().next().value?.get(key) ?? key;
  if (!text.includes('{')) return text.length > maxShownLength ? text.slice(0, maxShownLength) : text;
  const known = new Map<string, string>();
  let [shown, end] = ['', 0];
  for (const { 0: named, 1: name = '', index } of text.matchAll(placeholder)) {
    const isToday = name === 'today' && !Object.hasOwn(values, name);
    const value = known.get(name) ?? (isToday ? today() : fillIn(locales, language, values, name));
    known.set(name, value);
    shown += text.slice(end, index) + value;
    end = index + named.length;
    if (shown.length >= maxShownLength) break;
  }
  return (shown + text.slice(end)).slice(0, maxShownLength);
}

function fillIn(locales: Locales, language: string, values: Values, name: string): string {
  const value = Object.hasOwn(values, name) ? (values[name] ?? '') : readField(values, name);
  if (!name.endsWith('.label') || value === '') return value;
  // `{activity.label}` holds the keys of the options that were chosen, so that it follows the language.
  const labels = value.split('\n').map((key) => translate(locales, language, key));
  return labels.join(', ');
}

/** A program may be older than the text. */
export function hasText({ locales }: { locales: Locales }, { language }: { language: string }, key: string): boolean {
  return locales.get(language)?.has(key) ?? false;
}

/** `{member.name}`: a field of a value that is a record. */
function readField(values: Values, name: string): string {
  const [head = '', ...path] = name.split('.');
  let value: unknown = path.length > 0 && Object.hasOwn(values, head) ? parseJson(values[head]) : undefined;
  for (const field of path) {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, field);
    value = isThere ? (value as Record<string, unknown>)[field] : undefined;
  }
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
}

export function placeholdersOf(text: string): string[] {
  return Array.from(text.matchAll(placeholder), ([, name = '']) => name);
}
