// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export { coversAbility, hasCapability } from './capability.ts';
export { findExpiration, isGrantedBy, listChain, oracleResource } from './check-chain.ts';
export type { IssuedToken, Standing } from './create-verifier.ts';
export { fromDidKey } from './did/did-key.ts';
export { type InvocationOptions, mintDownstream } from './mint.ts';
