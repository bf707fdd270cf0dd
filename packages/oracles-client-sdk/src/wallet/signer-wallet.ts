import type { Sign } from '../core/credentials.ts';
import { concat, toBase58 } from './bytes.ts';
import { type Capability, mintToken, type TokenSigner } from './mint.ts';

/** What `OraclesProvider` and `createCredentialCache` need of a user. */
export interface SignerWallet {
  did: string;
  createDelegation: Sign;
  createInvocation: Sign;
}

export interface SignerWalletOptions {
  /** What the agent may do in the user's name, and what the user asks of it: everything by default. */
  capabilities?: readonly Capability[] | undefined;
  /** A day by default. */
  delegationSeconds?: number | undefined;
  /** Five minutes by default. */
  invocationSeconds?: number | undefined;
}

const everything: readonly Capability[] = [{ can: 'oracle/*', with: 'ixo:oracle' }];

/** Signs users in with a key that is elsewhere: give it the DID and the function that signs bytes with Ed25519. */
export function createSignerWallet(signer: TokenSigner, options: SignerWalletOptions = {}): SignerWallet {
  const { capabilities = everything, delegationSeconds = 24 * 3600, invocationSeconds = 300 } = options;
  const signFor =
    (seconds: number, own: readonly Capability[]): Sign =>
    (audience, capability) => {
      const expiration = Math.floor(Date.now() / 1000) + seconds;
      return mintToken({ signer, audience, expiration, capabilities: capability ? [capability as Capability] : own });
    };
  return {
    did: signer.did,
    createDelegation: signFor(delegationSeconds, capabilities),
    createInvocation: signFor(invocationSeconds, capabilities.slice(0, 1)),
  };
}

/** The `did:key` of an Ed25519 public key of 32 bytes. */
export function toKeyDid(publicKey: Uint8Array): string {
  return `did:key:z${toBase58(concat([0xed, 0x01], publicKey))}`;
}
