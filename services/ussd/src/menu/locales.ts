/** Texts by language and key. Every language has the same keys: the loader refuses anything else. */
export type Locales = ReadonlyMap<string, ReadonlyMap<string, string>>;

export type Values = Readonly<Record<string, string>>;

const placeholder = /\{([a-zA-Z][\w.]*)\}/g;

/** The text of a key in a language, with its `{placeholders}` filled in. */
export function translate(locales: Locales, language: string, key: string, values: Values = {}): string {
  const text = locales.get(language)?.get(key) ?? locales.values().next().value?.get(key) ?? key;
  if (!text.includes('{')) return text;
  return text.replace(placeholder, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? (values[name] ?? '') : '';
    // `{activity.label}` holds the key of the option that was chosen, so that it follows the language.
    return name.endsWith('.label') && value !== '' ? translate(locales, language, value) : value;
  });
}

export function placeholdersOf(text: string): string[] {
  return Array.from(text.matchAll(placeholder), ([, name = '']) => name);
}
