import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import { AppError } from '@palaver/contract';
import { clientAddress } from '@palaver/service-kit';
import { toAddressKey } from '@palaver/service-kit/internal';
import type { UcanError, UcanView, VerifiedToken, Verifier } from '@palaver/ucan';
import { type IssuedToken, listChain } from '@palaver/ucan/internal';
import type { FastifyRequest } from 'fastify';

export interface Identity {
  did: string;
  /** Unix seconds; the credential is valid until then (and the clock skew after it). */
  expiration: number;
  /** What signed them in, and its proofs. */
  chain: readonly IssuedToken[];
  /** Whether that was a delegation: others may hold it. */
  isDelegated: boolean;
  /** The user's delegation to this agent, if the request has one and it is theirs. */
  delegation?: { token: string; view: UcanView; expiration: number };
}

interface Credentials {
  invocation: string | undefined;
  delegation: string | undefined;
  /** A token that came alone and may be either. */
  bearer?: string | undefined;
  /** The client address, by which look-ups of unverified issuers are bounded. */
  client: string | undefined;
}

const missingMessage =
  'Missing UCAN authentication: send the invocation as "Authorization: Bearer <invocation>" with "X-Auth-Type: ucan", or a delegation in the "x-ucan-delegation" header.';

/** Without `X-Auth-Type: ucan` the bearer is read only on routes that take it bare. */
export function readCredentials(headers: IncomingHttpHeaders, bareBearer = false): Omit<Credentials, 'client'> {
  const isUcan = one(headers['x-auth-type'])?.trim().toLowerCase() === 'ucan';
  // The whole rest, including spaces: a text that is not a token is malformed, not missing.
  const bearer = /^Bearer +(.+)$/i.exec(one(headers.authorization) ?? '')?.[1];
  const delegation = one(headers['x-ucan-delegation']) || undefined;
  if (isUcan) return { invocation: bearer, delegation };
  return { invocation: undefined, delegation, bearer: bareBearer ? bearer : undefined };
}

type Authorized = { identity: Identity } | { error: AppError };

export type AuthorizeOptions = { verifier: Verifier; allowDelegation: boolean };

/** An invocation decides, even beside a valid delegation; a delegation alone is the fallback. The refusals are the specification's. */
export async function authorize({ bearer, ...credentials }: Credentials, options: AuthorizeOptions) {
  if (bearer === undefined) return authorizeTokens(credentials, options);
  const { verifier, allowDelegation } = options;
  if (!allowDelegation) return authorizeTokens({ ...credentials, invocation: bearer }, options);
  // What people paste as a key is a delegation. It is read once as either; which of the two it is costs little more.
  const { error } = await verifier.verifyBearer(bearer, credentials.client);
  if (error) return { error: toAppError(error, 'Invalid UCAN invocation') };
  const result = await authorizeTokens({ ...credentials, invocation: bearer }, options);
  return 'error' in result ? authorizeTokens({ ...credentials, delegation: bearer }, options) : result;
}

async function authorizeTokens(
  { invocation, delegation, client }: Credentials,
  { verifier, allowDelegation }: AuthorizeOptions,
): Promise<Authorized> {
  if (invocation !== undefined) {
    const verdict = await verifier.verifyInvocation(invocation, client);
    if (!verdict.ok) return { error: toAppError(verdict.error, 'Invalid UCAN invocation') };
    const downstream = delegation === undefined ? undefined : await verifier.verifyDelegation(delegation, client);
    // Somebody else's delegation, or a broken one, is simply not used.
    const own = downstream?.ok?.did === verdict.ok.did ? downstream.ok : undefined;
    const carried = own && delegation ? { token: delegation, view: own.view, expiration: own.expiration } : undefined;
    return { identity: { ...toIdentity(verdict.ok, false), ...(carried && { delegation: carried }) } };
  }
  if (delegation === undefined || !allowDelegation) return { error: new AppError('UCAN_MISSING', missingMessage) };
  const verdict = await verifier.verifySignIn(delegation, client);
  if (!verdict.ok) return { error: toAppError(verdict.error, 'Invalid UCAN delegation') };
  const { view, expiration } = verdict.ok;
  return { identity: { ...toIdentity(verdict.ok, true), delegation: { token: delegation, view, expiration } } };
}

function toIdentity({ did, expiration, view }: VerifiedToken, isDelegated: boolean): Identity {
  const chain = listChain(view).map(({ cid, issuer }) => ({ cid, issuer }));
  return { did, expiration, chain, isDelegated };
}

function toAppError({ code, limited }: UcanError, message: string): AppError {
  if (!limited) return new AppError(code, message);
  return new AppError('RATE_LIMITED', 'Too many tokens of your address are being checked. Try again in a minute.');
}

const one = (value: string | string[] | undefined): string | undefined => [value].flat()[0];

/** The key by which limits per client address count a request; undefined for an address that many users share. */
export type ClientKey = (request: Pick<FastifyRequest, 'ip' | 'socket'>) => string | undefined;

export function createClientKey(sharedCidrs: readonly string[] = []): ClientKey {
  const shared = new BlockList();
  for (const cidr of sharedCidrs) {
    const [address = '', bits] = cidr.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) shared.addAddress(address, family);
    else shared.addSubnet(address, Number(bits), family);
  }
  return (request) => {
    const address = clientAddress(request);
    return shared.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') ? undefined : toAddressKey(address);
  };
}
