import { createDelegation, createInvocation, createSigner, parseSigner, parseToken, type Signer } from '@palaver/ucan';
import { t } from '../i18n/text.ts';
import { loadCredential } from './kept-credential.ts';

export interface Artifact {
  serialized: string;
  expiresAt: number;
}

/** Who chats: a key that signs whatever is asked for, or one delegation that was signed elsewhere. */
export interface Identity {
  did: string;
  /** What was pasted or made; kept so that a reload is the same person. */
  credential: string;
  kind: 'key' | 'delegation';
  createDelegation(oracleDid: string): Promise<Artifact>;
  createInvocation?: (oracleDid: string) => Promise<Artifact>;
}

export async function createDemoIdentity(): Promise<Identity> {
  return fromSigner(await createSigner());
}

/** Reads what a person pasted: a secret key as `palaver` keeps it, or a delegation as `palaver token --delegation` prints it. */
export async function readIdentity(text: string): Promise<Identity | { problem: string }> {
  const credential = text.trim();
  const signer = await parseSigner(credential);
  if (signer.ok) return fromSigner(signer.ok);
  const token = await parseToken(credential);
  if (!token.ok) return { problem: t('chat.notCredential') };
  const { issuer, expiration } = token.ok;
  if (!expiration || expiration * 1000 < Date.now()) return { problem: t('chat.expired') };
  const artifact = { serialized: credential, expiresAt: expiration };
  return { did: issuer, credential, kind: 'delegation', createDelegation: async () => artifact };
}

function fromSigner(signer: Signer): Identity {
  return {
    did: signer.did(),
    credential: signer.toSecret(),
    kind: 'key',
    createDelegation: (audience) =>
      createDelegation({ issuer: signer, audience, capabilities: [{ can: 'oracle/*', with: audience }] }),
    createInvocation: (audience) =>
      createInvocation({ issuer: signer, audience, capability: { can: 'oracle/*', with: audience } }),
  };
}

export async function loadIdentity(): Promise<Identity | null> {
  const kept = await loadCredential();
  if (!kept) return null;
  const identity = await readIdentity(kept);
  return 'problem' in identity ? null : identity;
}
