import { expect, test } from 'vitest';
import { ar } from './ar.ts';
import { en } from './en.ts';
import { fr } from './fr.ts';
import { sw } from './sw.ts';
import { type Forms, fillMessage, type MessageKey } from './text.ts';

const others = Object.entries({ fr, sw, ar });
const toForms = (message: string | Forms) => (typeof message === 'string' ? { other: message } : message);
const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();

test.each(others)('every text in %s has a value, and names the same values as the English one', (_, messages) => {
  for (const [key, message] of Object.entries(messages)) {
    const { other, ...rare } = toForms(message);
    expect([key, ...placeholders(other)]).toEqual([key, ...placeholders(toForms(en[key as MessageKey]).other)]);
    for (const text of [other, ...Object.values(rare)]) expect([key, text.trim()]).not.toEqual([key, '']);
  }
});

test('a count chooses the form that the language has for it, and is written as the language writes it', () => {
  const say = (messages: typeof ar, locale: string, count: number) =>
    fillMessage(messages['explorer.routeCount'], locale, { count });
  expect([1, 1200].map((count) => fillMessage(en['explorer.routeCount'], 'en-GB', { count }))).toEqual([
    '1 route',
    '1,200 routes',
  ]);
  expect([1, 2, 3, 11, 100].map((count) => say(ar, 'ar-u-nu-latn', count))).toEqual([
    'مسار واحد',
    'مساران',
    '3 مسارات',
    '11 مسارًا',
    '100 مسار',
  ]);
  expect(say(fr, 'fr', 0)).toBe('0 route');
});

test('a value that looks like a placeholder or a pattern stays as it is', () => {
  expect(fillMessage('{a} and {b}', 'en', { a: '{b}', b: '$&' })).toBe('{b} and $&');
});
