import { expect, test } from 'vitest';
import { apiKeyFileSchema, gatewayErrorBodySchema } from './gateway.ts';

const sha256 = 'ab'.repeat(32);

test('a digest is compared in lower case', () => {
  expect(apiKeyFileSchema.parse([{ name: 'a', sha256: sha256.toUpperCase() }])).toEqual([{ name: 'a', sha256 }]);
});

test.each([
  [[], true],
  [[{ name: 'a', sha256, perMinute: 60, routes: ['/ixo/entity/*'] }], true],
  [
    [
      { name: 'a', sha256 },
      { name: 'b', sha256: 'cd'.repeat(32) },
    ],
    true,
  ],
  [
    [
      { name: 'a', sha256 },
      { name: 'a', sha256: 'cd'.repeat(32) },
    ],
    false,
  ],
  [
    [
      { name: 'a', sha256 },
      { name: 'b', sha256: sha256.toUpperCase() },
    ],
    false,
  ],
  [[{ name: '', sha256 }], false],
  [[{ name: 'a', sha256: 'secret' }], false],
  [[{ name: 'a', sha256, perMinute: 0 }], false],
  [[{ name: 'a', sha256, routes: [] }], false],
  [[{ name: 'a', sha256, routes: ['ixo'] }], false],
  [{ name: 'a', sha256 }, false],
])('api key file %#: %s', (file, expected) => {
  expect(apiKeyFileSchema.safeParse(file).success).toBe(expected);
});

test('an error has a number for code, a reason, and details with their type', () => {
  const body = {
    statusCode: 404,
    error: 'Not Found',
    message: 'no such entity',
    code: 5,
    reason: 'NOT_FOUND',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'X' }],
  };
  expect(gatewayErrorBodySchema.parse(body)).toEqual(body);
  expect(gatewayErrorBodySchema.safeParse({ ...body, code: 'NOT_FOUND' }).success).toBe(false);
  expect(gatewayErrorBodySchema.safeParse({ ...body, details: [{}] }).success).toBe(false);
});
