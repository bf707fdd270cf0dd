import type * as UCAN from '@ipld/dag-ucan';
import * as Signature from '@ipld/dag-ucan/signature';
import type { API } from '@ucanto/core';
import { createKeyPair, type KeyPair } from '#crypto';
import { decodeHex, decodeMultibaseOrBase64, encodeBase64, startsWithBytes } from './bytes.ts';
import type { UcanView } from './capability.ts';
import { ed25519Tag, toDidKey, untagPublicKey } from './did/did-key.ts';
import type { Result } from './result.ts';

/** An Ed25519 key that signs tokens. It is also a `Signer` to every function of ucanto. */
export interface Signer {
  did(): `did:${string}:${string}`;
  readonly signatureCode: number;
  readonly signatureAlgorithm: string;
  /** The bytes of a signature with its code, as ucanto reads it. */
  sign(payload: Uint8Array): Promise<Uint8Array>;
  /** The secret in ucanto's form: `Mg…`, multibase base64 of the tagged seed and public key; `parseSigner` reads it. */
  toSecret(): string;
  /** The same key, signing in the name of another DID whose document lists it. */
  withDid(did: string): Signer;
}

const seedBytes = 32;
/** The multicodec tag of an Ed25519 private key. */
const secretTag = Uint8Array.of(0x80, 0x26);

/**
 * A new key, only in memory until you store `toSecret`.
 *
 * @example
 * ```ts
 * import { createSigner } from '@palaver/ucan';
 *
 * const user = await createSigner();
 * console.log(user.did());
 * ```
 */
export async function createSigner(): Promise<Signer> {
  return await fromSeed(crypto.getRandomValues(new Uint8Array(seedBytes)));
}

/**
 * Reads a secret key: ucanto's `Mg…` form, or the seed as 64 hex digits.
 *
 * @example
 * ```ts
 * import { parseSigner } from '@palaver/ucan';
 *
 * const { ok: signer, error } = await parseSigner(process.env.ORACLE_PRIVATE_KEY ?? '');
 * console.log(signer?.did() ?? error?.message);
 * ```
 */
export async function parseSigner(secret: string): Promise<Result<Signer, { message: string }>> {
  const seedAsHex = secret.length === 2 * seedBytes ? decodeHex(secret) : null;
  if (seedAsHex) return { ok: await fromSeed(seedAsHex) };
  const bytes = secret.length <= 128 ? decodeMultibaseOrBase64(secret) : null;
  const end = secretTag.length + seedBytes;
  const publicKey = bytes && startsWithBytes(bytes, secretTag) ? untagPublicKey(bytes.subarray(end)) : null;
  if (!bytes || !publicKey) return { error: { message: 'expected 64 hex digits, or a key in multibase (Mg…)' } };
  const seed = bytes.subarray(secretTag.length, end);
  const signer = await fromSeed(seed);
  if (signer.did() !== toDidKey(publicKey)) return { error: { message: 'the two halves of the key do not match' } };
  return { ok: signer };
}

/**
 * Always the same key for the same secret and label (HKDF-SHA256), unrelated keys for different labels.
 *
 * @example
 * ```ts
 * import { deriveSigner } from '@palaver/ucan';
 *
 * const secret = crypto.getRandomValues(new Uint8Array(32));
 * export const farmer = await deriveSigner({ secret, label: '+254700000001' });
 * ```
 */
export async function deriveSigner({ secret, label }: { secret: Uint8Array; label: string }): Promise<Signer> {
  if (secret.length < 16) throw new RangeError('a secret to derive keys from has at least 16 bytes');
  const material = await crypto.subtle.importKey('raw', new Uint8Array(secret), 'HKDF', false, ['deriveBits']);
  // Changing the prefix changes every derived identity.
  const info = new TextEncoder().encode(`palaver ucan ed25519 v1 ${label}`);
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info };
  return await fromSeed(new Uint8Array(await crypto.subtle.deriveBits(hkdf, material, seedBytes * 8)));
}

async function fromSeed(seed: Uint8Array): Promise<Signer> {
  const keyPair = await createKeyPair(seed);
  const secret = `M${encodeBase64(Uint8Array.of(...secretTag, ...seed, ...ed25519Tag, ...keyPair.publicKey))}`;
  return fromKeyPair(keyPair, secret, toDidKey(keyPair.publicKey));
}

// The secret is in the closure only: logging or serialising a signer shows nothing of it.
function fromKeyPair(keyPair: KeyPair, secret: string, did: string): Signer {
  return {
    did: () => did as ReturnType<Signer['did']>,
    signatureCode: Signature.EdDSA,
    signatureAlgorithm: 'EdDSA',
    sign: async (payload) => Signature.create(Signature.EdDSA, await keyPair.sign(payload)),
    toSecret: () => secret,
    withDid: (other) => fromKeyPair(keyPair, secret, other),
  };
}

// Our own types as ucanto's. They are the same objects; only the declarations differ.

export const toUcantoSigner = (signer: Signer): UCAN.Signer => signer as unknown as UCAN.Signer;

export const toUcantoDelegation = ({ delegation }: UcanView): API.Delegation => delegation as API.Delegation;
