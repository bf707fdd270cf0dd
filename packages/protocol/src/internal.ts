// For Palaver's own packages and services: not part of the public interface, and changed without notice.

export { findAddress, findGranter } from './find-address.ts';
export { gatewayVariables, toAccessHeaders, toGatewayAccess } from './gateway-client.ts';
export {
  claimsVariables,
  envCollection,
  readClaim,
  readCollection,
  renewContent,
  toClaimId,
  toSendFor,
} from './messages.ts';
export { addOutboxRoutes } from './outbox-routes.ts';
export type { Read } from './read-chain.ts';
export {
  type Coin,
  envCoin,
  envSigningKey,
  formatCoin,
  loadSigningAccount,
  signingVariables,
} from './signing-account.ts';
