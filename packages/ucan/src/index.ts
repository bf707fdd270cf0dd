export type { Capability, UcanView } from './capability.ts';
export {
  createVerifier,
  type Verdict,
  type VerifiedToken,
  type Verifier,
  type VerifierOptions,
} from './create-verifier.ts';
export { createDidResolver, type ResolveDid } from './did/resolve-did.ts';
export { createDelegation, createInvocation, type MintedToken } from './mint.ts';
export { parseToken } from './parse-token.ts';
export type { Result, UcanError } from './result.ts';
export { createSigner, deriveSigner, parseSigner, type Signer } from './signer.ts';
