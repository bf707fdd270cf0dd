import { assert, property, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64, encodeBase64 } from './base64.ts';

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
