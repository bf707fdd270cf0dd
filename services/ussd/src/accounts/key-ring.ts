import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

interface Key {
  id: string;
  bytes: Buffer;
}

/** Seals texts with the current key and opens those of every key it holds. */
export interface KeyRing {
  currentId: string;
  /** `about` is bound to the result: it opens only for the same `about`. */
  seal(plain: Buffer, about: string): string;
  open(sealed: string, about: string): Buffer;
}

const version = 'v1';

/** 32 bytes as 64 hex digits or base64; a text of 32 characters is key material. `undefined` when it is none of these. */
export function parseKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  if (Array.from(text).length === 32) return Buffer.from(hkdfSync('sha256', text, '', 'palaver pin key', 32));
  return undefined;
}

export function createKeyRing(current: Buffer, old: Buffer[] = []): KeyRing {
  const keys = new Map([...old, current].map((bytes) => toKey(bytes)).map((key) => [key.id, key]));
  const { id: currentId } = toKey(current);
  return {
    currentId,
    seal(plain, about) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', current, nonce).setAAD(Buffer.from(about));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return [version, currentId, nonce.toString('base64url'), sealed.toString('base64url')].join('.');
    },
    open(sealed, about) {
      const [format, id = '', nonce = '', data = ''] = sealed.split('.');
      const key = keys.get(id);
      if (format !== version || !key) {
        throw new Error(`a record is sealed with the key ${id}, which PIN_ENCRYPTION_KEYS_OLD does not hold`);
      }
      const bytes = Buffer.from(data, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, Buffer.from(nonce, 'base64url'), {
        authTagLength: 16,
      });
      decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]);
    },
  };
}

/** The key id a sealed text names. */
export function keyIdOf(sealed: string): string {
  return sealed.split('.')[1] ?? '';
}

function toKey(bytes: Buffer): Key {
  return { id: createHash('sha256').update('palaver key id').update(bytes).digest('hex').slice(0, 12), bytes };
}
