// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export { gatewayVariables, toAccessHeaders, toGatewayAccess } from './gateway-client.ts';
export { envSigningKey, loadSigningAccount, signingVariables } from './signing-account.ts';
