import type { Bytes } from './result.ts';

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
