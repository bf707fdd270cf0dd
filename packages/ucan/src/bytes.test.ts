import { base58btc } from '@ucanto/core';
import { assert, property, uint8Array } from 'fast-check';
import { base16, base16upper } from 'multiformats/bases/base16';
import { base32 } from 'multiformats/bases/base32';
import { base64, base64pad, base64url, base64urlpad } from 'multiformats/bases/base64';
import { describe, expect, it, test } from 'vitest';
import { decodeBase64, decodeMultibase, decodeMultibaseOrBase64, encodeBase64 } from './bytes.ts';

const bytes = uint8Array({ maxLength: 80 });

describe('base64', () => {
  it('writes what Node writes', () => {
    assert(property(bytes, (value) => encodeBase64(value) === Buffer.from(value).toString('base64')));
  });

  it('reads every usual form', () => {
    assert(
      property(bytes, (value) => {
        const padded = Buffer.from(value).toString('base64');
        const bare = padded.replace(/=+$/, '');
        const url = Buffer.from(value).toString('base64url');
        const urlPadded = url + '='.repeat((4 - (url.length % 4)) % 4);
        for (const text of [padded, bare, url, urlPadded]) expect(decodeBase64(text)).toEqual(value);
      }),
    );
  });

  it.each([
    ['a space inside', 'QUJD REVG'],
    ['a line break', 'QUJD\nREVG'],
    ['bits after the last byte', 'QUJDRF=='],
    ['too little padding', 'QUJDRA='],
    ['too much padding', 'QUJD===='],
    ['padding inside', 'QU==QUJD'],
    ['a lone digit', 'QUJDR'],
    ['two alphabets at once', '-_+/'],
    ['another character', 'QUJD!'],
    ['a letter beyond ASCII', 'QUJDé'],
  ])('refuses %s', (_, text) => {
    expect(decodeBase64(text)).toBeNull();
  });
});

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
