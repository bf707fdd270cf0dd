import { expect, test } from 'vitest';
import { toPlainText } from './plain-text.ts';

test.each([
  ['plain text stays', 'plain text stays'],
  ['# Title\n\n**Bold** and *slanted* and `code`', 'Title\nBold and slanted and code'],
  ['* one\n* two\n  + three', '- one\n- two\n  - three'],
  ['see [the page](https://x.example/a)', 'see the page (https://x.example/a)'],
  ['```ts\nlet a = 2 * 3 * 4;\n```', 'let a = 2 * 3 * 4;'],
  ['snake_case and __init__ stay readable', 'snake_case and init stay readable'],
  ['2 * 3 = 6', '2 * 3 = 6'],
])('%j reads %j', (markdown, plain) => {
  expect(toPlainText(markdown)).toBe(plain);
});

test('what nobody could page to is left out, at a word', () => {
  const plain = toPlainText('word '.repeat(5_000));
  expect(plain.length).toBeLessThanOrEqual(8_003);
  expect(plain).toMatch(/ word\.\.\.$/);
  expect(toPlainText('x'.repeat(9_000))).toHaveLength(8_003);
});
