import { expect, test } from 'vitest';
import { printable, toPrintableJson, toPrintableProse } from './printable.ts';

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

test('a line has values of somebody else in it, and stays one line', () => {
  expect(printable`⚙ ${'pay\u001b[8m\n'} ${1}\n`).toBe('⚙ pay\\u001b[8m\\u000a 1\n');
});

test('prose keeps its lines, its words and its emoji, and nothing that styles or reverses it', () => {
  const text = 'Ané\n\tمی\u200cخواهم 👩\u200d🌾';
  expect(toPrintableProse(text)).toBe(text);
  expect(toPrintableProse('a\r\u001b[8mb\u202e\u009b')).toBe('a\\u000d\\u001b[8mb\\u202e\\u009b');
});
