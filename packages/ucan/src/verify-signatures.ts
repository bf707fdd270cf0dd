import * as UCAN from '@ipld/dag-ucan';
import { verifyEd25519 } from '#crypto';
import type { UcanView } from './capability.ts';
import { listChain } from './check-chain.ts';
import type { DidKeys } from './did/did-document.ts';
import { fromDidKey } from './did/did-key.ts';
import type { UcanError } from './result.ts';
import { toUcantoDelegation } from './signer.ts';

export interface SignatureVerdict {
  readonly error: UcanError | null;
  /** Whether the verdict depends on a DID document, which may change. */
  readonly resolved: boolean;
}

/** How many DID documents one token may make a service fetch. */
const maxDocuments = 4;

export async function verifySignatures(
  root: UcanView,
  resolveDid: (did: string) => Promise<DidKeys>,
): Promise<SignatureVerdict> {
  const chain = listChain(root);
  const [known, unknown] = [chain.filter(isByKey), chain.filter((view) => !isByKey(view))];
  const others = new Set(unknown.map(({ issuer }) => issuer));
  if (others.size > maxDocuments) {
    const message = `more than ${maxDocuments} of its issuers are not a did:key`;
    return { error: { code: 'UCAN_BAD_PROOF', message }, resolved: false };
  }
  // First what needs no network: a token that is wrong here causes no fetch.
  const early = await findFirstFault(root, known, new Map());
  if (early) return { error: early, resolved: false };
  // All at once, so that the time limit of one is the limit of all.
  const documents = new Map(await Promise.all([...others].map(async (did) => [did, await resolveDid(did)] as const)));
  return { error: await findFirstFault(root, unknown, documents), resolved: others.size > 0 };
}

const isByKey = ({ issuer }: UcanView): boolean => issuer.startsWith('did:key:');

async function findFirstFault(
  root: UcanView,
  chain: UcanView[],
  documents: Map<string, DidKeys>,
): Promise<UcanError | null> {
  for (const view of chain) {
    const keys = documents.get(view.issuer) ?? { ok: [view.issuer] };
    const fault = await findFault(view, keys);
    if (fault === null) continue;
    const limited = keys.error?.limited && { limited: true as const };
    if (view === root) return { code: 'UCAN_BAD_SIGNATURE', message: fault, ...limited };
    return { code: 'UCAN_BAD_PROOF', message: `a proof is not good: ${fault}`, ...limited };
  }
  return null;
}

async function findFault(view: UcanView, { ok, error }: DidKeys): Promise<string | null> {
  if (error) return error.message;
  for (const key of ok) {
    const publicKey = fromDidKey(key);
    if (publicKey && (await isSignedBy(view, publicKey))) return null;
  }
  return 'its signature is wrong';
}

async function isSignedBy(view: UcanView, publicKey: Uint8Array): Promise<boolean> {
  return await UCAN.verifySignature(toUcantoDelegation(view).data, {
    did: () => view.issuer as UCAN.DID,
    verify: (payload, signature) => verifyEd25519({ publicKey, payload, signature: signature.raw }),
  });
}
