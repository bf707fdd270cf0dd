// Intl also takes primary subtags of five to eight letters, which BCP 47 only reserves: "French" would be a language.
const languageTagPattern = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/;
const languageTagMaxCharacters = 35;

/** The canonical form of a BCP 47 language tag (`pt-br` → `pt-BR`), or `undefined` if it is not one. */
export function toLanguageTag(text: string): string | undefined {
  if (text.length > languageTagMaxCharacters || !languageTagPattern.test(text)) return undefined;
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}
