import { base58btc } from '@ucanto/core';
import { decodeBase64 } from './base64.ts';
import type { Bytes } from './result.ts';

/** Reading base58 takes time by the square of its length: enough for a token with a proof or two, and no more. */
const maxBase58Characters = 2_048;

/** A text that names its own encoding by its first letter: base64, base64url, base58btc, base32 or base16. */
export function decodeMultibase(text: string): Bytes | null {
  const digits = text.slice(1);
  switch (text[0]) {
    case 'm':
    case 'M':
    case 'u':
    case 'U':
      return decodeBase64(digits);
    case 'z':
      return decodeBase58(text);
    case 'b':
      return decodeBase32(digits);
    case 'f':
    case 'F':
      return decodeHex(digits);
    default:
      return null;
  }
}

/**
 * Multibase, or base64 without a prefix. What is read here, archives and secret keys, never starts with one of the
 * prefixes itself: their first bytes are fixed.
 */
export function decodeMultibaseOrBase64(text: string): Bytes | null {
  return /^[mMuUzbfF]/.test(text) ? decodeMultibase(text) : decodeBase64(text);
}

export function decodeHex(digits: string): Bytes | null {
  if (!/^(?:[0-9a-f]{2})+$/i.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function decodeBase58(multibase: string): Bytes | null {
  if (multibase.length > maxBase58Characters) return null;
  try {
    return new Uint8Array(base58btc.decode(multibase));
  } catch {
    return null;
  }
}

function decodeBase32(digits: string): Bytes | null {
  if (!/^[a-z2-7]+$/.test(digits)) return null;
  const bytes = new Uint8Array(Math.floor((digits.length * 5) / 8));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (const digit of digits) {
    held = ((held << 5) | 'abcdefghijklmnopqrstuvwxyz234567'.indexOf(digit)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = held >> bits;
  }
  // A digit too many, or stray bits after the last byte: many texts would mean one token.
  return bits < 5 && (held & ((1 << bits) - 1)) === 0 ? bytes : null;
}
