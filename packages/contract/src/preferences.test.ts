import { expect, test } from 'vitest';
import { toLanguageTag } from './language-tag.ts';
import { languageTagSchema, setUserPreferencesSchema, userPreferencesReplySchema } from './preferences.ts';

test.each([
  ['fr', 'fr'],
  ['FR', 'fr'],
  ['pt-br', 'pt-BR'],
  ['zh-hant-tw', 'zh-Hant-TW'],
  ['swa', 'sw'],
  ['sw', 'sw'],
])('language %j is kept as %j', (text, expected) => {
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
])('language %j is no tag', (text) => {
  expect(toLanguageTag(text)).toBeUndefined();
  expect(languageTagSchema.safeParse(text).success).toBe(false);
});

test('a user without preferences has an empty record', () => {
  expect(userPreferencesReplySchema.parse({ preferences: {} })).toEqual({ preferences: {} });
});

test.each([
  [{}, true],
  [{ agentName: 'Ana', userName: null, language: 'French' }, true],
  [{ tone: '🌳'.repeat(80) }, true],
  [{ customInstructions: 'x'.repeat(2_000), formality: 'formal', length: 'brief', format: null }, true],
  [{ formality: null }, true],
  [{ tone: 'x'.repeat(81) }, false],
  [{ agentName: '' }, false],
  [{ customInstructions: 'x'.repeat(2_001) }, false],
  [{ formality: 'rude' }, false],
  [{ language: 5 }, false],
])('set_user_preferences %#: %s', (args, expected) => {
  expect(setUserPreferencesSchema.safeParse(args).success).toBe(expected);
});

test('null is kept, because it clears a preference', () => {
  expect(setUserPreferencesSchema.parse({ tone: null })).toEqual({ tone: null });
});
