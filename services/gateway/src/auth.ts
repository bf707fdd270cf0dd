import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AppError } from '@palaver/contract';
import { type ApiKey, apiKeyFileSchema, type MinuteCount } from '@palaver/contract/internal';
import { clientAddress, StartError } from '@palaver/service-kit';
import {
  type CountInMinute,
  countInMemory,
  nameCaller,
  toAddressKey,
  toRateError,
} from '@palaver/service-kit/internal';
import { createDidResolver, createVerifier, type UcanError, type VerifiedToken } from '@palaver/ucan';
import { coversAbility, isGrantedBy } from '@palaver/ucan/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from './config.ts';
import type { GatewayMetrics } from './metrics.ts';

/** Who asks: the name of an API key, or a DID. Answers do not depend on it. */
type Authorized =
  | { ok: true; identity: string }
  | { ok: false; error: AppError; headers?: Record<string, string> | undefined };

type Asker = Pick<FastifyRequest, 'headers' | 'ip' | 'socket' | 'raw'>;

export type Authorize = (request: Asker, path: string) => Authorized | Promise<Authorized>;

function refuse(error: AppError, headers?: Record<string, string>): Authorized {
  return { ok: false, error, headers };
}

export function requireAuthorized(authorized: Authorized, reply: FastifyReply): void {
  if (authorized.ok) return;
  reply.headers(authorized.headers ?? {});
  throw authorized.error;
}

export const authorizeAnyone: Authorize = () => ({ ok: true, identity: '' });

export async function loadApiKeys(path: string): Promise<ApiKey[]> {
  const fault = (what: string, cause?: unknown) => new StartError(`GATEWAY_API_KEYS_FILE: ${path} ${what}`, { cause });
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fault('cannot be read', error);
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw fault('is not JSON', error);
  }
  const parsed = apiKeyFileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path: at, message }) => `${at.join('.') || 'the list'}: ${message}`);
  throw fault(`is not valid: ${faults.join('; ')}`);
}

/** `X-Api-Key`. Keys are found by their hash, so that the time of a comparison reveals nothing about them. */
export function authorizeApiKey(keys: ApiKey[], countInMinute: CountInMinute = countInMemory()): Authorize {
  const byHash = new Map(keys.map((key) => [key.sha256.toLowerCase(), key]));
  return (request, path) => {
    const given = request.headers['x-api-key'];
    const key = typeof given === 'string' ? byHash.get(hash('sha256', given)) : undefined;
    if (!key) {
      const message =
        given === undefined ? 'This gateway asks for an API key in X-Api-Key.' : 'The API key is not known.';
      return refuse(new AppError('UNAUTHORIZED', message), { 'www-authenticate': 'ApiKey' });
    }
    if (key.routes && !key.routes.some((route) => isBelow(path, route)))
      return refuse(new AppError('FORBIDDEN', 'This API key is not allowed on this route.'));
    if (key.perMinute === undefined) return { ok: true, identity: key.name };
    const counted = countInMinute(key.name, key.perMinute);
    return counted instanceof Promise
      ? counted.then((standing) => decideByCount(key, standing))
      : decideByCount(key, counted);
  };
}

function decideByCount({ name, perMinute = 0 }: ApiKey, counted: MinuteCount | undefined): Authorized {
  if (!counted || counted.count <= perMinute) return { ok: true, identity: name };
  const resetSeconds = Math.ceil(counted.leftMs / 1000);
  return refuse(toRateError({ perMinute, resetSeconds }), { 'retry-after': String(resetSeconds) });
}

export function nameKeys(authorize: Authorize, metrics: Pick<GatewayMetrics, 'countKey'>): Authorize {
  return (request, path) => {
    const note = (authorized: Authorized) => {
      if (authorized.ok) {
        metrics.countKey(authorized.identity);
        nameCaller(request.raw, authorized.identity);
      }
      return authorized;
    };
    const deciding = authorize(request, path);
    return 'then' in deciding ? deciding.then(note) : note(deciding);
  };
}

/** `/ixo/entity` covers itself and what lies below; so do `/ixo/entity/` and `/ixo/entity/*`. */
function isBelow(path: string, route: string): boolean {
  const base = route.replace(/\/\*{0,2}$/, '');
  return path === base || path.startsWith(`${base}/`);
}

const challenge = { 'www-authenticate': 'Bearer' };
const missing =
  'Missing UCAN authentication: send the invocation as "Authorization: Bearer <invocation>" with "X-Auth-Type: ucan", or a delegation in the "x-ucan-delegation" header.';

type UcanConfig = Pick<GatewayConfig, 'GATEWAY_DIDS' | 'GATEWAY_UCAN_ISSUERS' | 'GATEWAY_UCAN_ABILITY'>;

// Anyone can make a key, so the token or one of its proofs must come from an issuer that the operator named.
// Issuers are did:key or did:web; DIDs of the protocol would have to be looked up behind this very door.
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
  const isUcan = String(headers['x-auth-type']).trim().toLowerCase() === 'ucan';
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
