import { OracleError } from '../core/oracle-error.ts';
import { concat, fromBase64, toBase64, toUtf8 } from './bytes.ts';

// PBKDF2 with as many rounds as OWASP asks for: WebCrypto has no memory-hard function.
const rounds = 600_000;
const saltBytes = 16;
const nonceBytes = 12;
const mark = 'palaver-key-1.';

/** A secret under a passphrase, as text that can be kept anywhere. */
export async function sealWithPassphrase(secret: Uint8Array, passphrase: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(saltBytes));
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const key = await deriveKey(passphrase, salt);
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, new Uint8Array(secret));
  return mark + toBase64(concat(salt, iv, new Uint8Array(sealed)));
}

export async function openWithPassphrase(text: string, passphrase: string): Promise<Uint8Array> {
  try {
    if (!text.startsWith(mark)) throw new TypeError('not a backup of a key');
    const bytes = fromBase64(text.slice(mark.length).trim());
    const key = await deriveKey(passphrase, bytes.slice(0, saltBytes));
    const iv = bytes.slice(saltBytes, saltBytes + nonceBytes);
    return new Uint8Array(
      await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, bytes.slice(saltBytes + nonceBytes)),
    );
  } catch (cause) {
    throw new OracleError('The backup cannot be opened with this passphrase.', { code: 'KEY_BACKUP_REFUSED', cause });
  }
}

async function deriveKey(passphrase: string, salt: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey('raw', toUtf8(passphrase), 'PBKDF2', false, ['deriveKey']);
  const pbkdf2 = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations: rounds };
  return crypto.subtle.deriveKey(pbkdf2, material, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
}
