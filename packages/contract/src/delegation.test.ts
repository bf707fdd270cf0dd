import { expect, test } from 'vitest';
import { storeDelegationSchema } from './delegation.ts';
import { didSchema } from './primitives.ts';

test.each([
  [{ raw: 'OqJlcm9vdHOA' }, true],
  [
    { raw: 'uOqJl', issuer: 'did:key:z6Mk', audience: 'did:web:example.org', expiration: 1_800_000_000, extra: 1 },
    true,
  ],
  [{ raw: 'A'.repeat(65_536) }, true],
  [{ raw: 'A'.repeat(65_537) }, false],
  [{ raw: '' }, false],
  [{}, false],
  [{ raw: 'a', issuer: 'alice' }, false],
  [{ raw: 'a', audience: 5 }, false],
  [{ raw: 'a', expiration: '1800000000' }, false],
  [{ raw: 'a', expiration: -1 }, false],
  [{ raw: 'a', expiration: 1.5 }, false],
  [null, false],
])('delegation body %#: %s', (body, expected) => {
  expect(storeDelegationSchema.safeParse(body).success).toBe(expected);
});

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
