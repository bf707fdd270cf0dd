import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundedText } from './primitives.ts';
import { countCodePoints, isRequestId, isTimeZone } from './texts.ts';

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

test.each(['a', 'req 1/2~', '~'.repeat(128)])('%j is taken over', (value) => {
  expect(isRequestId(value)).toBe(true);
});

test.each([undefined, null, 5, ['a'], '', 'a'.repeat(129), 'a\nb', 'a\r\n', 'é', '\u007f', '\t'])(
  '%j is replaced',
  (value) => {
    expect(isRequestId(value)).toBe(false);
  },
);

test.each(['UTC', 'Africa/Nairobi', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'Asia/Calcutta'])(
  '%j is known',
  (name) => {
    expect(isTimeZone(name)).toBe(true);
  },
);

test.each(['', 'Nairobi', 'Mars/Olympus', '+02:00', '+0200', 'GMT+2', ' UTC', 'UTC\n', '../UTC', 'A'.repeat(65)])(
  '%j is unknown',
  (name) => {
    expect(isTimeZone(name)).toBe(false);
  },
);
