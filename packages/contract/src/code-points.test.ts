import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundedText } from './bounded-text.ts';
import { countCodePoints } from './code-points.ts';

test.each([
  ['', 0],
  ['abc', 3],
  ['🌳', 1],
  ['👩‍🌾', 3],
  ['e\u0301', 2],
  ['\ud83c', 1],
])('%j has %i code points', (text, expected) => {
  expect(countCodePoints(text)).toBe(expected);
});

test('bounded text is refused exactly when its code points are out of bounds', () => {
  const schema = boundedText(2, 5);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 12 }), (text) => {
      const count = Array.from(text).length;
      expect(schema.safeParse(text).success).toBe(count >= 2 && count <= 5);
    }),
  );
});
