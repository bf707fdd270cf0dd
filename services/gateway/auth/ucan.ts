import { AppError } from '@palaver/contract';
import { createDidResolver, createVerifier } from '@palaver/ucan';
import { type Authorize, refuse } from './authorize.ts';

const challenge = { 'www-authenticate': 'Bearer' };
const missing =
  'Missing UCAN authentication: send the invocation as "Authorization: Bearer <invocation>" with "X-Auth-Type: ucan", or a delegation in the "x-ucan-delegation" header.';

/**
 * UCANs as the agent service takes them: an invocation that is present decides, a delegation alone is enough.
 * Issuers are did:key or did:web; DIDs of the protocol would have to be looked up behind this very door.
 */
export function authorizeUcan(audiences: string[]): Authorize {
  const verifier = createVerifier({ audiences, resolveDid: createDidResolver({}) });
  return async ({ headers }) => {
    const isUcan =
      String(headers['x-auth-type'] ?? '')
        .trim()
        .toLowerCase() === 'ucan';
    const bearer = /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
    const delegation = headers['x-ucan-delegation'];
    if (isUcan && bearer !== undefined) {
      const { ok, error } = await verifier.verifyInvocation(bearer);
      return ok
        ? { ok: true, identity: ok.did }
        : refuse(new AppError(error.code, 'Invalid UCAN invocation'), challenge);
    }
    if (typeof delegation !== 'string' || delegation === '')
      return refuse(new AppError('UCAN_MISSING', missing), challenge);
    const { ok, error } = await verifier.verifySignIn(delegation);
    return ok ? { ok: true, identity: ok.did } : refuse(new AppError(error.code, 'Invalid UCAN delegation'), challenge);
  };
}
