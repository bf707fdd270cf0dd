import { AppError } from '@palaver/contract';
import { clientAddress } from '@palaver/service-kit';
import { toAddressKey } from '@palaver/service-kit/internal';
import { createDidResolver, createVerifier, type UcanError, type VerifiedToken } from '@palaver/ucan';
import { coversAbility, isGrantedBy } from '@palaver/ucan/internal';
import type { GatewayConfig } from '../config.ts';
import { type Asker, type Authorize, type Authorized, refuse } from './authorize.ts';

const challenge = { 'www-authenticate': 'Bearer' };
const missing =
  'Missing UCAN authentication: send the invocation as "Authorization: Bearer <invocation>" with "X-Auth-Type: ucan", or a delegation in the "x-ucan-delegation" header.';

type UcanConfig = Pick<GatewayConfig, 'GATEWAY_DIDS' | 'GATEWAY_UCAN_ISSUERS' | 'GATEWAY_UCAN_ABILITY'>;

/**
 * UCANs as the agent service takes them: an invocation that is present decides, a delegation alone is enough. Anyone can
 * make a key, so the token or one of its proofs must come from an issuer that the operator named.
 * Issuers are did:key or did:web; DIDs of the protocol would have to be looked up behind this very door.
 */
export function authorizeUcan(config: UcanConfig): Authorize {
  const { GATEWAY_DIDS: audiences, GATEWAY_UCAN_ISSUERS: named, GATEWAY_UCAN_ABILITY: ability } = config;
  const verifier = createVerifier({ audiences, resolveDid: createDidResolver({}) });
  const issuers = new Set(named.length > 0 ? named : audiences);
  const isAllowed = ({ capabilities, view }: VerifiedToken) =>
    capabilities.some(
      (capability) =>
        (ability === undefined || coversAbility(capability.can, ability)) && isGrantedBy(view, capability, issuers),
    );
  const decide = (token: VerifiedToken): Authorized =>
    isAllowed(token)
      ? { ok: true, identity: token.did }
      : refuse(new AppError('FORBIDDEN', 'This gateway does not accept the issuer or the ability of the token.'));

  return async (request) => {
    const { invocation, delegation } = readTokens(request);
    const client = toAddressKey(clientAddress(request));
    if (invocation !== undefined) {
      const { ok, error } = await verifier.verifyInvocation(invocation, client);
      return ok ? decide(ok) : refuseToken(error, 'Invalid UCAN invocation');
    }
    if (delegation === undefined) return refuse(new AppError('UCAN_MISSING', missing), challenge);
    const { ok, error } = await verifier.verifySignIn(delegation, client);
    return ok ? decide(ok) : refuseToken(error, 'Invalid UCAN delegation');
  };
}

function readTokens({ headers }: Asker): { invocation: string | undefined; delegation: string | undefined } {
  const type = String(headers['x-auth-type'] ?? '');
  const isUcan = type.trim().toLowerCase() === 'ucan';
  const bearer = /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  const delegation = headers['x-ucan-delegation'];
  return {
    invocation: isUcan ? bearer : undefined,
    delegation: typeof delegation === 'string' && delegation !== '' ? delegation : undefined,
  };
}

function refuseToken({ code, limited }: UcanError, message: string): Authorized {
  if (!limited) return refuse(new AppError(code, message), challenge);
  const busy = 'Too many issuers of tokens are being looked up. Try again in a minute.';
  return refuse(new AppError('RATE_LIMITED', busy), { 'retry-after': '60' });
}
