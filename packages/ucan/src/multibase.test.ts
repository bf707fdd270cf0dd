import { base58btc } from '@ucanto/core';
import { assert, property, uint8Array } from 'fast-check';
import { base16, base16upper } from 'multiformats/bases/base16';
import { base32 } from 'multiformats/bases/base32';
import { base64, base64pad, base64url, base64urlpad } from 'multiformats/bases/base64';
import { expect, test } from 'vitest';
import { decodeMultibase, decodeMultibaseOrBase64 } from './multibase.ts';

const bases = [base16, base16upper, base32, base58btc, base64, base64pad, base64url, base64urlpad];

test.each(bases.map((base) => [base.name, base] as const))('reads %s', (_name, base) => {
  assert(
    property(uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
      expect(decodeMultibase(base.encode(bytes))).toEqual(bytes);
      expect(decodeMultibaseOrBase64(base.encode(bytes))).toEqual(bytes);
    }),
  );
});

test('base64 needs no prefix where none can be meant', () => {
  const archive = Uint8Array.of(58, 162, 101, 114);
  expect(decodeMultibaseOrBase64(Buffer.from(archive).toString('base64'))).toEqual(archive);
  expect(decodeMultibase(Buffer.from(archive).toString('base64'))).toBeNull();
});

test.each([
  ['nothing', ''],
  ['an unknown base', 'kabc'],
  ['half a byte in base16', 'fabc'],
  ['a letter outside base16', 'fxy'],
  ['stray bits in base32', 'bab'],
  ['a digit too many in base32', 'baaa'],
  ['padding in base32', 'bae======'],
  ['a letter outside base58', 'z0'],
  ['base58 so long that it would take forever', `z${'2'.repeat(60_000)}`],
])('refuses %s', (_what, text) => {
  expect(decodeMultibase(text)).toBeNull();
});
