import { expect, test } from 'vitest';
import { toPrintableJson } from './printable-json.ts';

test.each([
  ['a control character', '\u009b2K', '"\\u009b2K"'],
  ['delete', 'a\u007f', '"a\\u007f"'],
  ['text in the other direction', '\u202eevil\u2066', '"\\u202eevil\\u2066"'],
  ['a line separator', '\u2028', '"\\u2028"'],
  ['a character of two units that cannot be seen', '\u{e0041}', '"\\udb40\\udc41"'],
])('%s is escaped, and still the same JSON', (_name, text, shown) => {
  expect(toPrintableJson(text)).toBe(shown);
  expect(JSON.parse(shown)).toBe(text);
});

test('letters of every script stay', () => {
  expect(toPrintableJson({ to: 'Ané שלום 王 🐐' })).toBe('{"to":"Ané שלום 王 🐐"}');
});
