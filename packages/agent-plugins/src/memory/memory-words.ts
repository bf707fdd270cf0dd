// How a text becomes words to search by. Done here and not by the databases, so that both find the same.

const maxWords = 500;
const maxQueryWords = 12;
const shortest = 3;
// PostgreSQL takes lexemes of at most 2,046 bytes.
const wordCharacters = 100;
const beginningCharacters = 16;

/** The words of a text: lowercase, without accents. */
export function toWords(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    // Accents of Latin, Greek and Cyrillic; in other scripts marks are letters.
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase();
  const words = (plain.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => word.slice(0, wordCharacters).toWellFormed());
  return [...new Set(words)].slice(0, maxWords);
}

/**
 * What to look for, as beginnings of words. Very short words say little and are left out where there are longer ones; the
 * last letter of a longer word is left open, which finds most plurals in most languages.
 */
export function toSearchTerms(query: string): string[] {
  const words = toWords(query);
  const telling = words.filter((word) => [...word].length >= shortest);
  const chosen = (telling.length > 0 ? telling : words).slice(0, maxQueryWords);
  return [...new Set(chosen.map((word) => ([...word].length > 4 ? [...word].slice(0, -1).join('') : word)))];
}

/** Every beginning of the words, for an index that can only be asked for equal entries. */
export function toBeginnings(words: string[]): string[] {
  const beginnings = words.flatMap((word) => {
    const letters = [...word].slice(0, beginningCharacters);
    return letters.map((_, index) => letters.slice(0, index + 1).join(''));
  });
  return [...new Set(beginnings)];
}

/** The beginning of a term that `toBeginnings` gives. */
export function toBeginning(term: string): string {
  return [...term].slice(0, beginningCharacters).join('');
}

/** How many of the terms the words of a text match. */
export function countMatches(words: string, terms: string[]): number {
  const padded = ` ${words}`;
  return terms.filter((term) => padded.includes(` ${term}`)).length;
}
