import { base32 } from 'multiformats/bases/base32';
import { base58btc } from 'multiformats/bases/base58';
import type { Bytes } from './result.ts';

export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && startsWithBytes(left, right);
}

export function startsWithBytes(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let index = 0; index < prefix.length; index += 1) if (bytes[index] !== prefix[index]) return false;
  return true;
}

export function encodeBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Base64 or base64url, padded or not; null for anything no encoder writes. */
export function decodeBase64(text: string): Bytes | null {
  const urlSafe = /[-_]/.test(text);
  if (urlSafe && /[+/]/.test(text)) return null;
  const standard = urlSafe ? text.replaceAll('-', '+').replaceAll('_', '/') : text;
  let binary: string;
  try {
    binary = atob(standard);
  } catch {
    return null;
  }
  // atob forgives whitespace and stray bits after the last byte: many texts would mean one token.
  const canonical = btoa(binary);
  if (standard !== canonical && standard !== canonical.replace(/=+$/, '')) return null;
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** Decoding base58 takes quadratic time; this is enough for a token with one or two proofs. */
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
      return text.length > maxBase58Characters ? null : decodeWith(base58btc, text);
    case 'b':
      // Without padding, which the library would skip: several texts would mean one token.
      return /^b[a-z2-7]+$/.test(text) ? decodeWith(base32, text) : null;
    case 'f':
    case 'F':
      return decodeHex(digits);
    default:
      return null;
  }
}

/** Multibase or plain base64: archives and secret keys, whose first bytes are fixed, never start with a multibase letter. */
export function decodeMultibaseOrBase64(text: string): Bytes | null {
  return /^[mMuUzbfF]/.test(text) ? decodeMultibase(text) : decodeBase64(text);
}

export function decodeHex(digits: string): Bytes | null {
  if (!/^(?:[0-9a-f]{2})+$/i.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function decodeWith(base: { decode(multibase: string): Uint8Array }, multibase: string): Bytes | null {
  try {
    return new Uint8Array(base.decode(multibase));
  } catch {
    return null;
  }
}
