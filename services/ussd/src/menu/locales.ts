import { parseJson } from './value-types.ts';

/** Texts by language and key. Every language has the same keys: the loader refuses anything else. */
export type Locales = ReadonlyMap<string, ReadonlyMap<string, string>>;

export type Values = Readonly<Record<string, string>>;

const placeholder = /\{([a-zA-Z][\w.]*)\}/g;

/** The text of a key in a language, with its `{placeholders}` filled in. */
export function translate(
  locales: Locales,
  language: string,
  key: string,
  values: Values = {},
  today = () => '',
): string {
  const text = locales.get(language)?.get(key) ?? locales.values().next().value?.get(key) ?? key;
  if (!text.includes('{')) return text;
  return text.replace(placeholder, (_, name: string) => {
    if (name === 'today' && !Object.hasOwn(values, name)) return today();
    const value = Object.hasOwn(values, name) ? (values[name] ?? '') : readField(values, name);
    if (!name.endsWith('.label') || value === '') return value;
    // `{activity.label}` holds the keys of the options that were chosen, so that it follows the language.
    return value
      .split('\n')
      .map((label) => translate(locales, language, label))
      .join(', ');
  });
}

/** Programs may be older than some texts. */
export function hasText({ locales }: { locales: Locales }, { language }: { language: string }, key: string): boolean {
  return locales.get(language)?.has(key) ?? false;
}

/** `{member.name}`: a field of a value that is a record. */
function readField(values: Values, name: string): string {
  const [head = '', ...path] = name.split('.');
  let value: unknown = path.length > 0 && Object.hasOwn(values, head) ? parseJson(values[head]) : undefined;
  for (const field of path)
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, field) ? value[field as never] : undefined;
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  return value === undefined || value === null ? '' : String(value);
}

export function placeholdersOf(text: string): string[] {
  return Array.from(text.matchAll(placeholder), ([, name = '']) => name);
}
