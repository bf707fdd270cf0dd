import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

interface Key {
  id: string;
  /** Imported once: to import a key costs three times as much as to encrypt a message with it. */
  secret: KeyObject;
}

/** Encrypts with the current key (AES-256-GCM) and decrypts what any of its keys encrypted. */
export interface KeyRing {
  currentId: string;
  /** `about` is bound to the result: it opens only for the same `about`. */
  seal(plain: Buffer, about: string): string;
  open(sealed: string, about: string): Buffer;
}

const version = 'v1';

export function createKeyRing(current: Buffer, old: Buffer[] = []): KeyRing {
  const keys = new Map([...old, current].map((bytes) => toKey(bytes)).map((key) => [key.id, key]));
  const { id: currentId, secret } = toKey(current);
  return {
    currentId,
    seal(plain, about) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(about));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return [version, currentId, nonce.toString('base64url'), sealed.toString('base64url')].join('.');
    },
    open(sealed, about) {
      const [format, id = '', nonce = '', data = ''] = sealed.split('.');
      const key = keys.get(id);
      if (format !== version || !key) {
        throw new Error(
          `a record is encrypted with the key ${id}: add it to PIN_ENCRYPTION_KEYS_OLD, or to DATA_ENCRYPTION_KEY after the current one`,
        );
      }
      const bytes = Buffer.from(data, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key.secret, Buffer.from(nonce, 'base64url'), {
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
  const id = createHash('sha256').update('palaver key id').update(bytes).digest('hex').slice(0, 12);
  return { id, secret: createSecretKey(bytes) };
}
