import { createSignerWallet, type SignerWallet } from '@palaver/oracles-client-sdk/wallet';
import { createSigner, parseSigner, type Signer } from '@palaver/ucan';
import { t } from '../i18n/text.ts';

type Sign = SignerWallet['createDelegation'];

/** A key signs whatever is asked for; a delegation was signed once, elsewhere. */
export interface Identity {
  did: string;
  /** Kept so that a reload is the same person. */
  credential: string;
  kind: 'key' | 'delegation';
  createDelegation: Sign;
  createInvocation?: Sign;
}

export const createDemoIdentity = async (): Promise<Identity> => fromSigner(await createSigner());

/** Takes a secret key as `palaver` keeps it, or a delegation as `palaver token --delegation` prints it. */
export async function readIdentity(text: string): Promise<Identity | { problem: string }> {
  const credential = text.trim();
  const signer = await parseSigner(credential);
  if (signer.ok) return fromSigner(signer.ok);
  const { parseToken } = await import('./read-token.ts');
  const token = await parseToken(credential);
  if (!token.ok) return { problem: t('chat.notCredential') };
  const { issuer, expiration } = token.ok;
  if (!expiration || expiration * 1000 < Date.now()) return { problem: t('chat.expired') };
  const artifact = { serialized: credential, expiresAt: expiration };
  const giveDelegation: Sign = async (_audience, capability) => {
    if (capability) throw new Error(t('chat.cannotSign'));
    return artifact;
  };
  return { did: issuer, credential, kind: 'delegation', createDelegation: giveDelegation };
}

const signatureBytes = 64;

function fromSigner(signer: Signer): Identity {
  const did = signer.did();
  const { createDelegation, createInvocation } = createSignerWallet({
    did,
    sign: async (payload) => (await signer.sign(payload)).slice(-signatureBytes),
  });
  // Signs exactly what the user has approved; without an approval, what signs the user in.
  const withDefault =
    (sign: Sign): Sign =>
    (audience, approved) =>
      sign(audience, approved ?? { can: 'oracle/*', with: audience });
  return {
    did,
    credential: signer.toSecret(),
    kind: 'key',
    createDelegation: withDefault(createDelegation),
    createInvocation: withDefault(createInvocation),
  };
}
