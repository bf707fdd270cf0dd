import { didPattern } from '@palaver/contract';
import { base58btc } from 'multiformats/bases/base58';
import { startsWithBytes } from '../bytes.ts';

/** The multicodec tag of an Ed25519 public key. */
export const ed25519Tag = Uint8Array.of(0xed, 0x01);
/** The multicodec tag ucanto puts before the text of any DID that is not a did:key. */
const didTag = Uint8Array.of(0x9d, 0x1a);
const keyBytes = 32;

export function toDidKey(publicKey: Uint8Array): string {
  return `did:key:${base58btc.encode(Uint8Array.of(...ed25519Tag, ...publicKey))}`;
}

/** The Ed25519 public key of a did:key; null for other keys and other DIDs. */
export function fromDidKey(did: string): Uint8Array | null {
  if (!did.startsWith('did:key:z') || did.length > 100) return null;
  try {
    return untagPublicKey(base58btc.decode(did.slice('did:key:'.length)));
  } catch {
    return null;
  }
}

export function untagPublicKey(tagged: Uint8Array): Uint8Array | null {
  const isEd25519 = tagged.length === ed25519Tag.length + keyBytes && startsWithBytes(tagged, ed25519Tag);
  return isEd25519 ? tagged.subarray(ed25519Tag.length) : null;
}

/** The DID of a token's `iss` or `aud`; null when it is not one or not written the one right way. */
export function toDid(principal: Uint8Array): string | null {
  if (untagPublicKey(principal)) return `did:key:${base58btc.encode(principal)}`;
  if (!startsWithBytes(principal, didTag)) return null;
  const did = `did:${new TextDecoder().decode(principal.subarray(didTag.length))}`;
  // A did:key has its own, shorter form: two forms of one identity would make two tokens of one.
  return didPattern.test(did) && !did.startsWith('did:key:') ? did : null;
}
