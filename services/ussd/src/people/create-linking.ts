import { createGatewayClient, type GatewayAccess } from '@palaver/protocol';
import { findAddress, toAccessHeaders } from '@palaver/protocol/internal';
import { createDidResolver, createVerifier, deriveSigner } from '@palaver/ucan';

/** The audience of pages' invocations, and how the wallet of an issuer is found. */
export async function createLinking(secret: Uint8Array, access: GatewayAccess | undefined) {
  const audience: string = (await deriveSigner({ secret, label: 'ussd gateway' })).did();
  const resolveDid = createDidResolver(
    access
      ? { gatewayUrl: access.url, gatewayPrefix: access.prefix ?? '/ixo', gatewayHeaders: toAccessHeaders(access) }
      : {},
  );
  const gateway = access && createGatewayClient(access);
  return {
    audience,
    verifier: createVerifier({ audiences: [audience], resolveDid }),
    findAddress: (did: string, given: string | undefined) => findAddress(gateway, did, given),
  };
}
