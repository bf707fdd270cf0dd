import { expect, test } from 'vitest';
import { countMatches, toSearchTerms, toWords } from './memory-words.ts';

test.each([
  ["Ana's three GOATS, in Nyeri!", ['ana', 's', 'three', 'goats', 'in', 'nyeri']],
  ['Les chèvres — été 2025', ['les', 'chevres', 'ete', '2025']],
  ['हिन्दी भाषा', ['हिन्दी', 'भाषा']],
  ['山羊 goat', ['山羊', 'goat']],
  ['the the THE', ['the']],
  ['—!?', []],
])('the words of %j', (text, words) => {
  expect(toWords(text)).toEqual(words);
});

test.each([
  ['my goats', ['goat']],
  ['goat', ['goat']],
  ['I am', ['i', 'am']],
  ['chèvres', ['chevre']],
  ['  ', []],
])('%j is looked up by %j', (query, terms) => {
  expect(toSearchTerms(query)).toEqual(terms);
});

test('a term meets the beginning of a word', () => {
  expect(countMatches('three goats', ['goat', 'thre', 'oats'])).toBe(2);
});
