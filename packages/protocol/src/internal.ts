// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export { claimsVariables, envCollection, readClaim, readCollection, renewContent, toClaimId } from './claims.ts';
export { type Coin, envCoin, formatCoin } from './coin.ts';
export { findAddress, findGranter } from './find-address.ts';
export { gatewayVariables, toAccessHeaders, toGatewayAccess } from './gateway-client.ts';
export { toSendFor } from './messages.ts';
export { addOutboxRoutes } from './outbox-routes.ts';
export type { Read } from './read-chain.ts';
export { envSigningKey, loadSigningAccount, signingVariables } from './signing-account.ts';
