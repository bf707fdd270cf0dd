import { hkdfSync } from 'node:crypto';
import { parseKeyBytes } from '@palaver/service-kit/internal';

/** 32 bytes as 64 hex digits or base64; a text of 32 characters is key material. `undefined` when it is none of these. */
export function parseKey(text: string): Buffer | undefined {
  const bytes = parseKeyBytes(text);
  if (bytes) return bytes;
  if (Array.from(text).length === 32) return Buffer.from(hkdfSync('sha256', text, '', 'palaver pin key', 32));
  return undefined;
}
