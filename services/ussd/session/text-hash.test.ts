import { expect, test } from 'vitest';
import { createTextHash } from './text-hash.ts';

test('texts of other sessions, other steps and other services have other hashes', () => {
  const one = createTextHash(Buffer.alloc(32, 1));
  const two = createTextHash(Buffer.alloc(32, 2));
  const hashes = [
    one.ofText('s', '1'),
    one.ofText('t', '1'),
    one.ofText('s', '2'),
    two.ofText('s', '1'),
    one.ofEffect('s', '1', 0),
    one.ofEffect('s', '1', 1),
  ];
  for (const hash of hashes) expect(hash).toMatch(/^[\w-]{22}$/);
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(one.ofText('s', '')).toBe('');
  expect(createTextHash(Buffer.alloc(32, 1)).ofText('s', '1')).toBe(hashes[0]);
});
