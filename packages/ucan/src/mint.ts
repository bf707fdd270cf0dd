import { agentLimits } from '@palaver/contract';
import { type API, delegate } from '@ucanto/core';
import { encodeBase64 } from './bytes.ts';
import { type Capability, hasCapability, type UcanView } from './capability.ts';
import { findExpiration } from './check-chain.ts';
import type { Result } from './result.ts';
import { type Signer, toUcantoDelegation, toUcantoSigner } from './signer.ts';

/** A signed token, ready for a header. */
export interface MintedToken {
  /** A ucanto CAR archive in standard base64: what goes into a header. */
  readonly serialized: string;
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly cid: string;
}

interface TokenOptions {
  readonly issuer: Signer;
  readonly audience: string;
  /** Unix seconds; without it the token lives for `lifetimeSeconds`. */
  readonly expiration?: number;
  readonly lifetimeSeconds?: number;
  /** Unix seconds. */
  readonly notBefore?: number;
  /** The delegations that give the issuer what it uses or passes on. */
  readonly proofs?: readonly UcanView[];
  readonly facts?: readonly Record<string, unknown>[];
}

export type InvocationOptions = TokenOptions & { readonly capability: Capability };

export type DelegationOptions = TokenOptions & { readonly capabilities: readonly Capability[] };

export interface DownstreamOptions
  extends Pick<InvocationOptions, 'issuer' | 'audience' | 'capability' | 'lifetimeSeconds'> {
  /** The verified delegation the issuer acts under. */
  readonly delegation: UcanView;
}

const invocationSeconds = 300;
const delegationSeconds = 24 * 3600;

/**
 * Signs a request to use one capability; it is valid for five minutes by default.
 *
 * @example
 * ```ts
 * import { createInvocation, createSigner } from '@palaver/ucan';
 *
 * const issuer = await createSigner();
 * const capability = { can: 'oracle/chat', with: 'ixo:oracle' };
 * export const { serialized } = await createInvocation({ issuer, audience: 'did:key:z6Mk', capability });
 * ```
 */
export async function createInvocation({ capability, ...options }: InvocationOptions): Promise<MintedToken> {
  return await mint({ lifetimeSeconds: invocationSeconds, ...options, capabilities: [capability] });
}

/**
 * Delegates capabilities to the audience; it is valid for a day by default.
 *
 * @example
 * ```ts
 * import { createDelegation, createSigner } from '@palaver/ucan';
 *
 * const issuer = await createSigner();
 * const capabilities = [{ can: 'oracle/*', with: 'ixo:oracle' }];
 * export const { serialized } = await createDelegation({ issuer, audience: 'did:key:z6Mk', capabilities });
 * ```
 */
export async function createDelegation(options: DelegationOptions): Promise<MintedToken> {
  return await mint({ lifetimeSeconds: delegationSeconds, ...options });
}

/** Signs an invocation to another service, with a user's delegation as its proof; it does not outlive the delegation. */
export async function mintDownstream(options: DownstreamOptions): Promise<Result<MintedToken, { message: string }>> {
  const { delegation, lifetimeSeconds = invocationSeconds, ...invocation } = options;
  if (delegation.audience !== invocation.issuer.did())
    return { error: { message: 'the delegation is for another audience' } };
  if (!hasCapability(delegation, invocation.capability))
    return { error: { message: 'the delegation does not grant this capability' } };
  const expiration = Math.min(nowSeconds() + lifetimeSeconds, findExpiration(delegation));
  return { ok: await createInvocation({ ...invocation, expiration, proofs: [delegation] }) };
}

async function mint(options: DelegationOptions & { lifetimeSeconds: number }): Promise<MintedToken> {
  const expiresAt = options.expiration ?? nowSeconds() + options.lifetimeSeconds;
  const delegation = await delegate({
    issuer: toUcantoSigner(options.issuer),
    audience: { did: () => options.audience as API.DID },
    capabilities: options.capabilities as API.Capabilities,
    expiration: expiresAt,
    // Two tokens of the same second and content stay two tokens: revoking one leaves the other.
    nonce: encodeBase64(crypto.getRandomValues(new Uint8Array(12))),
    proofs: (options.proofs ?? []).map(toUcantoDelegation),
    facts: [...(options.facts ?? [])],
    ...(options.notBefore !== undefined && { notBefore: options.notBefore }),
  });
  const { ok: archive, error } = await delegation.archive();
  if (!archive) throw error;
  const serialized = encodeBase64(archive);
  if (serialized.length > agentLimits.tokenCharacters) throw new RangeError('the token is too long to be accepted');
  return { serialized, expiresAt, cid: delegation.cid.toString() };
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000);
