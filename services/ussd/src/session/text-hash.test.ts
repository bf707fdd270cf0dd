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

test('a session that this or the previous version stored is found by its text', () => {
  expect(createTextHash(secret)(undefined).ofText('s', '1*2')).toBe('hBE449gIFo3_RxdmD1I4gD_');
  // As the previous version stored it, with the same secret.
  const kept = 'fo1ChdxUHKgJpL97zsYbSO';
  expect(createTextHash(secret)(kept).ofText('s', '1')).toBe(kept);
});
