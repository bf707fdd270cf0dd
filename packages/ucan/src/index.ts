export { type Capability, coversAbility, hasCapability } from './capability.ts';
export { findExpiration, isGrantedBy } from './check-chain.ts';
export {
  createVerifier,
  type IssuedToken,
  type Standing,
  type Verdict,
  type VerifiedToken,
  type Verifier,
  type VerifierOptions,
} from './create-verifier.ts';
export type { DidKeys } from './did/did-document.ts';
export { createDidResolver, type DidResolverOptions, type ResolveDid } from './did/resolve-did.ts';
export {
  createDelegation,
  createInvocation,
  type DelegationOptions,
  type DownstreamOptions,
  type InvocationOptions,
  type MintedToken,
  mintDownstream,
} from './mint.ts';
export { parseToken } from './parse-token.ts';
export type { Result, UcanError, UcanErrorCode } from './result.ts';
export { createSigner, deriveSigner, parseSigner, type Signer } from './signer.ts';
export type { UcanView } from './ucan-view.ts';
