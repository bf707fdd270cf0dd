import { expect, test } from 'vitest';
import { didSchema } from './primitives.ts';

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
