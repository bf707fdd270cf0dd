import { expect, test } from 'vitest';
import { apiKeyFileSchema } from './gateway.ts';

const sha256 = 'ab'.repeat(32);
const other = 'cd'.repeat(32);

test('a digest is compared in lower case', () => {
  expect(apiKeyFileSchema.parse([{ name: 'a', sha256: sha256.toUpperCase() }])).toEqual([{ name: 'a', sha256 }]);
});

test.each([
  ['names', { name: 'a', sha256: other }],
  ['keys', { name: 'b', sha256: sha256.toUpperCase() }],
])('%s are distinct', (what, second) => {
  const { error } = apiKeyFileSchema.safeParse([{ name: 'a', sha256 }, second]);
  expect(error?.issues).toMatchObject([{ message: `${what} must be distinct` }]);
  expect(
    apiKeyFileSchema.safeParse([
      { name: 'a', sha256 },
      { name: 'b', sha256: other },
    ]).success,
  ).toBe(true);
});
