import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';

/** Encrypts small texts at rest by AES-256-GCM, bound to what they belong to. */
export interface Seal {
  seal(text: string, belongsTo: string): string;
  /** Undefined if the text was not sealed with this key for this owner. */
  open(sealed: string, belongsTo: string): string | undefined;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * A seal of 32 secret bytes, for what is encrypted even without `DATA_ENCRYPTION_KEY`.
 *
 * @example
 * ```ts
 * import { createSeal, type PluginContext } from '@palaver/agent';
 *
 * export const sealOf = ({ deriveKey }: PluginContext) => createSeal(deriveKey('pins'));
 * ```
 */
export function createSeal(bytes: Uint8Array): Seal {
  const key = createSecretKey(bytes);
  return {
    seal(text, belongsTo) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(belongsTo));
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat(sealed).toString('base64');
    },
    open(sealed, belongsTo) {
      const bytes = Buffer.from(sealed, 'base64');
      if (bytes.length < nonceBytes + tagBytes) return undefined;
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(belongsTo))
        .setAuthTag(bytes.subarray(-tagBytes));
      try {
        const opened = [decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()];
        return Buffer.concat(opened).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}

/** A key of the agent's own secret for one purpose, so that there is one secret to keep. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `palaver agent ${purpose}`, 32));
}
