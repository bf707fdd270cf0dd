import { createHmac, hkdfSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTextHash } from './text-hash.ts';

const secret = Buffer.alloc(32, 1);

test('texts of other sessions, other steps and other services have other hashes', () => {
  const one = createTextHash(secret)(undefined);
  const two = createTextHash(Buffer.alloc(32, 2))(undefined);
  const hashes = [
    one.ofText('s', '1'),
    one.ofText('t', '1'),
    one.ofText('s', '2'),
    two.ofText('s', '1'),
    one.ofAction('s', '1', 0),
    one.ofAction('s', '1', 1),
  ];
  for (const hash of hashes) expect(hash).toMatch(/^h[\w-]{22}$/);
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(one.ofText('s', '')).toBe('');
  expect(createTextHash(secret)('').ofText('s', '1')).toBe(hashes[0]);
});

test('it is HMAC-SHA256', () => {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'palaver ussd text, hmac', 32));
  const expected = createHmac('sha256', key).update('t\0s\x001*2').digest('base64url').slice(0, 22);
  expect(createTextHash(secret)(undefined).ofText('s', '1*2')).toBe(`h${expected}`);
});

test('a session that was kept by an earlier version is still known by its text', () => {
  // As the version before made it, from the same secret.
  const kept = 'fo1ChdxUHKgJpL97zsYbSO';
  expect(createTextHash(secret)(kept).ofText('s', '1')).toBe(kept);
});
