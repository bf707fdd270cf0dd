import { expect, test } from 'vitest';
import { languageTagSchema } from './personal.ts';
import { toLanguageTag } from './texts.ts';

test.each([
  ['fr', 'fr'],
  ['FR', 'fr'],
  ['pt-br', 'pt-BR'],
  ['zh-hant-tw', 'zh-Hant-TW'],
  ['swa', 'sw'],
  ['sw', 'sw'],
])('language %j is stored as %j', (text, expected) => {
  expect(toLanguageTag(text)).toBe(expected);
  expect(languageTagSchema.parse(text)).toBe(expected);
});

test.each([
  '',
  'French',
  'f',
  'fr_FR',
  'fr-',
  '-fr',
  'x-private',
  'fr FR',
  'français',
  'en-a',
  `en-${'abcdefgh-'.repeat(4)}x`,
])('language %j is not a tag', (text) => {
  expect(toLanguageTag(text)).toBeUndefined();
  expect(languageTagSchema.safeParse(text).success).toBe(false);
});
