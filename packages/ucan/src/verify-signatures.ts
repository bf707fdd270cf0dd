import * as UCAN from '@ipld/dag-ucan';
import { verifyEd25519 } from '#crypto';
import { listChain } from './check-chain.ts';
import { fromDidKey } from './did/did-key.ts';
import type { ResolveDid } from './did/resolve-did.ts';
import type { UcanView } from './parse-token.ts';
import type { UcanError } from './result.ts';

export interface SignatureVerdict {
  readonly error: UcanError | null;
  /** Whether the verdict depends on a DID document, which may change. */
  readonly resolved: boolean;
}

/** Checks the signature of a token and of every proof under it. */
export async function verifySignatures(root: UcanView, resolveDid: ResolveDid): Promise<SignatureVerdict> {
  let resolved = false;
  for (const view of listChain(root)) {
    const isKey = view.issuer.startsWith('did:key:');
    resolved ||= !isKey;
    const keys = isKey ? { ok: [view.issuer] } : await resolveDid(view.issuer);
    const fault = keys.error?.message ?? ((await isSignedByAny(view, keys.ok ?? [])) ? null : 'its signature is wrong');
    if (fault === null) continue;
    const error: UcanError =
      view === root
        ? { code: 'UCAN_BAD_SIGNATURE', message: fault }
        : { code: 'UCAN_BAD_PROOF', message: `a proof is not good: ${fault}` };
    return { error, resolved };
  }
  return { error: null, resolved };
}

async function isSignedByAny(view: UcanView, keys: readonly string[]): Promise<boolean> {
  for (const key of keys) {
    const publicKey = fromDidKey(key);
    if (publicKey && (await isSignedBy(view, publicKey))) return true;
  }
  return false;
}

async function isSignedBy({ issuer, delegation }: UcanView, publicKey: Uint8Array): Promise<boolean> {
  return await UCAN.verifySignature(delegation.data, {
    did: () => issuer as UCAN.DID,
    verify: (payload, signature) => verifyEd25519({ publicKey, payload, signature: signature.raw }),
  });
}
