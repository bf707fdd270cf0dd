import { decodeBase64, encodeBase64 } from '../bytes.ts';
import type { Awaitable, Bytes } from '../result.ts';

export interface KeyPair {
  readonly publicKey: Uint8Array;
  sign(payload: Uint8Array): Awaitable<Uint8Array>;
}

export interface SignatureCheck {
  readonly publicKey: Uint8Array;
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
}

// RFC 8410: an Ed25519 private key in PKCS #8 is this prefix and the 32 bytes of the seed.
const pkcs8Prefix = Uint8Array.of(48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32);

export async function createKeyPair(seed: Uint8Array): Promise<KeyPair> {
  const der = new Uint8Array([...pkcs8Prefix, ...seed]);
  const key = await crypto.subtle.importKey('pkcs8', der, 'Ed25519', true, ['sign']);
  // WebCrypto has no other way from a private key to its public one.
  const { x } = await crypto.subtle.exportKey('jwk', key);
  const publicKey = decodeBase64(x ?? '');
  if (!publicKey) throw new Error('the platform gave no public key');
  return {
    publicKey,
    sign: async (payload) => new Uint8Array(await crypto.subtle.sign('Ed25519', key, toBytes(payload))),
  };
}

export async function verifyEd25519({ publicKey, payload, signature }: SignatureCheck): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', toBytes(publicKey), 'Ed25519', false, ['verify']);
  return await crypto.subtle.verify('Ed25519', key, toBytes(signature), toBytes(payload));
}

export function sha256(bytes: Uint8Array): Awaitable<Uint8Array> {
  return crypto.subtle.digest('SHA-256', toBytes(bytes)).then((digest) => new Uint8Array(digest));
}

export function hashText(text: string): Awaitable<string> {
  return Promise.resolve(sha256(new TextEncoder().encode(text))).then(encodeBase64);
}

// WebCrypto's types refuse shared memory, which is never used here, so this copies nothing in practice.
function toBytes(bytes: Uint8Array): Bytes {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Bytes) : new Uint8Array(bytes);
}
