import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cursorPageQuerySchema, didSchema, offsetPageQuerySchema } from './primitives.ts';
import { frameNumberSchema } from './runs.ts';

test.each([
  ['did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK', true],
  ['did:web:example.org%3A3000:agents:one', true],
  ['did:ixo:entity:3d079ebc0b332aad3305bb4a51c72edb', true],
  ['did:key:', false],
  ['did::abc', false],
  ['DID:key:abc', false],
  ['did:key:a b', false],
  ['did:web:a/b', false],
  ['did:key:a\n', false],
  [`did:key:${'a'.repeat(501)}`, false],
])('DID %j: %s', (did, expected) => {
  expect(didSchema.safeParse(did).success).toBe(expected);
});

test.each([
  ['1', 1],
  ['100', 100],
  [7, 7],
])('limit %j is %i', (limit, expected) => {
  expect(offsetPageQuerySchema.parse({ limit }).limit).toBe(expected);
});

const refused = [
  '',
  ' ',
  ' 5',
  '5 ',
  '+5',
  '-1',
  '0',
  '101',
  '1e2',
  '0x10',
  '1.0',
  '1.5',
  '05',
  '٣',
  'NaN',
  'Infinity',
  null,
  ['5', '6'],
  true,
  1.5,
  '9'.repeat(400),
];

test.each(refused)('limit %j is an error, never clamped', (limit) => {
  expect(offsetPageQuerySchema.safeParse({ limit }).success).toBe(false);
  expect(cursorPageQuerySchema.safeParse({ limit }).success).toBe(false);
});

test.each(refused.filter((value) => value !== '0' && value !== '101'))(
  'offset and frame number %j are errors',
  (value) => {
    if (value === '9'.repeat(400)) expect(Number(value)).toBe(Number.POSITIVE_INFINITY);
    expect(offsetPageQuerySchema.safeParse({ offset: value }).success).toBe(false);
    expect(frameNumberSchema.safeParse(value).success).toBe(false);
  },
);

test('a text is accepted only if it is the number as printed', () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer().map(String), fc.string({ maxLength: 4 })), (text) => {
      const number = Number(text);
      const expected = Number.isInteger(number) && String(number) === text && number >= 1 && number <= 100;
      expect(offsetPageQuerySchema.safeParse({ limit: text }).success).toBe(expected);
    }),
  );
});

test('a refusal names the bounds', () => {
  const { error } = offsetPageQuerySchema.safeParse({ limit: '101' });
  expect(error?.issues).toMatchObject([{ path: ['limit'], message: 'must be a whole number from 1 to 100' }]);
});

test.each([
  [{ before: 'abc' }, true],
  [{ after: 'a+/=_-' }, true],
  [{ before: 'a', after: 'b' }, false],
  [{ before: '' }, false],
  [{ before: 'a b' }, false],
  [{ after: 'x'.repeat(513) }, false],
])('cursors %j: %s', (query, expected) => {
  expect(cursorPageQuerySchema.safeParse(query).success).toBe(expected);
});
