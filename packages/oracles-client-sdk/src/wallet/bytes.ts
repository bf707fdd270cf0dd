/** Bytes that are not shared: what WebCrypto takes. */
export type Bytes = Uint8Array<ArrayBuffer>;

export function concat(...parts: (Uint8Array | readonly number[])[]): Bytes {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export const toUtf8 = (text: string): Bytes => new TextEncoder().encode(text);

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

export const fromBase64 = (text: string): Bytes => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

/** Unsigned LEB128, as multiformats use it. */
export function toVarint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return [...bytes, rest];
}

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

export function toBase58(bytes: Uint8Array): string {
  const zeros = bytes.findIndex((byte) => byte !== 0);
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = '';
  for (; number > 0n; number /= 58n) text = base58.charAt(Number(number % 58n)) + text;
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

export function fromBase58(text: string): Bytes {
  let number = 0n;
  for (const character of text) {
    const digit = base58.indexOf(character);
    if (digit < 0) throw new RangeError('not base58');
    number = number * 58n + BigInt(digit);
  }
  const bytes: number[] = [];
  for (; number > 0n; number /= 256n) bytes.unshift(Number(number % 256n));
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  return concat(new Uint8Array(zeros), bytes);
}
