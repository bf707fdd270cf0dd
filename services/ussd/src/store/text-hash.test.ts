import { expect, test } from 'vitest';
import { createTextHash } from './text-hash.ts';

const secret = Buffer.alloc(32, 1);

test('texts of other sessions, other steps and other services have other hashes', () => {
  const one = createTextHash(secret);
  const two = createTextHash(Buffer.alloc(32, 2));
  const hashes = [
    one.ofText('s', '1'),
    one.ofText('t', '1'),
    one.ofText('s', '2'),
    two.ofText('s', '1'),
    one.ofAction('s', ['1'], 0),
    one.ofAction('s', ['1'], 1),
    one.ofAction('s', ['1', ''], 0),
    one.ofAction('s', ['1*2'], 0),
    one.ofAction('s', ['1', '2'], 0),
  ];
  for (const hash of hashes) expect(hash).toMatch(/^[\w-]{22}$/);
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(one.ofText('s', '')).toBe('');
});

test('a session that was stored is found by its text', () => {
  expect(createTextHash(secret).ofText('s', '1*2')).toBe('9uNmd8PC_pbswzoFb_5tk7');
});
