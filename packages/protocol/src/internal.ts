// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export { renewContent, toClaimId } from './claim-id.ts';
export { claimsVariables, envCollection } from './claims-variables.ts';
export { type Coin, envCoin } from './coin.ts';
export { findAddress } from './find-address.ts';
export { findGranter } from './find-granter.ts';
export { gatewayVariables, toAccessHeaders, toGatewayAccess } from './gateway-client.ts';
export { toSendFor, toSendGrant } from './messages.ts';
export { addOutboxRoutes } from './outbox-routes.ts';
export type { Read } from './read-chain.ts';
export { readClaim, readCollection } from './read-claims.ts';
export { envSigningKey, loadSigningAccount, signingVariables } from './signing-account.ts';
