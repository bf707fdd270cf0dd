import { AppError } from '@palaver/contract';
import { clientAddress, type Server } from '@palaver/service-kit';
import { toAddressKey } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AuthorizeOptions, authorize, type Identity, readCredentials } from './authorize.ts';
import type { ClientKey } from './client-key.ts';
import { type OpenConnections, tooManyOpen } from './open-connections.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The route takes a UCAN as a bare `Authorization: Bearer`, for clients that cannot send `X-Auth-Type`: an invocation, or
     * a delegation that may sign in.
     */
    bareBearer?: boolean;
    /** A read that costs as much as a write: it counts towards `WRITES_PER_MINUTE_PER_ADDRESS`. */
    countsAsWrite?: boolean;
    /** The `WWW-Authenticate` header of its 401 replies; `Bearer` unless given. */
    challenge?: (request: FastifyRequest) => string;
  }
  interface FastifyRequest {
    /** Set on protected routes only. */
    identity: Identity | null;
    /** The reply is sent even if the token that asked for it is revoked. */
    outliveToken: (() => void) | null;
  }
}

/**
 * A route that asks for no credentials: a path, or a path for one method. `*` at the end stands for the rest; the
 * specification writes `(.*)`, which is the same.
 *
 * @example
 * ```ts
 * import type { PublicRoute } from '@palaver/agent';
 *
 * export const getAuthExcludedRoutes = (): PublicRoute[] => ['/herd/*', { path: '/goats', method: 'GET' }];
 * ```
 */
export type PublicRoute = string | { path: string; method?: string };

export type RouteMatcher = (url: string, method: string) => boolean;

/** How long a reply continues after the expiry of the token that asked for it; a client then asks for the rest with a new one. */
const replyGraceMs = 15 * 60_000;

interface AuthParts extends AuthorizeOptions {
  isPublic: RouteMatcher;
  connections: OpenConnections;
  clientKey: ClientKey;
}

/** Protects every route but those of operators and the public ones, which never look at auth headers. */
export function addAuth(server: Server, options: AuthParts): void {
  const { connections } = options;
  server.decorateRequest('identity', null);
  server.decorateRequest('outliveToken', null);
  server.addHook('onRequest', async (request, reply) => {
    // An unknown path is a 404 for everyone, and preflights carry no credentials.
    if (request.is404 || request.method === 'OPTIONS') return;
    // By the route's own template: what a client can write into a path must not decide.
    const { url = '', config } = request.routeOptions;
    if (config.forOperators || options.isPublic(url, request.method)) return;
    const { bareBearer = false, challenge } = config;
    const credentials = readCredentials(request.headers, bareBearer);
    const result = await authorize({ ...credentials, client: toAddressKey(clientAddress(request)) }, options);
    if ('error' in result) {
      if (result.error.statusCode === 401) reply.header('www-authenticate', challenge?.(request) ?? 'Bearer');
      if (result.error.code === 'RATE_LIMITED') reply.header('retry-after', '60');
      throw result.error;
    }
    request.identity = result.identity;
    if (reply.raw.closed) return;
    const leave = takePlace(request, result.identity, options);
    if (!leave) {
      reply.header('retry-after', '5');
      throw tooManyOpen();
    }
    const remove = keepWithToken(reply, result.identity, connections);
    request.outliveToken = remove;
    reply.raw.once('close', () => {
      remove();
      leave();
    });
  });
}

/** Deleting and revoking take no time, and whoever holds a user's delegation must not keep the user from it. */
function takePlace(request: FastifyRequest, { did }: Identity, { connections, clientKey }: AuthParts) {
  if (request.method === 'DELETE') return () => {};
  return connections.takeReply({ userDid: did, client: clientKey(request) });
}

/** Cuts the reply off where its token is revoked or has long expired: a stream may be under way for hours. */
function keepWithToken(
  { raw }: FastifyReply,
  { chain, expiration }: Identity,
  connections: OpenConnections,
): () => void {
  const end = () => void raw.destroy();
  return connections.add({ chain, expiration, graceMs: replyGraceMs, endsWhenShared: false, end });
}

/**
 * The caller of a protected route.
 *
 * @example
 * ```ts
 * import { identityOf, type Server } from '@palaver/agent';
 *
 * export const addRoutes = (server: Server) =>
 *   server.post('/herd', async (request) => ({ by: identityOf(request).did }));
 * ```
 */
export function identityOf(request: FastifyRequest): Identity {
  if (request.identity) return request.identity;
  throw new AppError('UNAUTHORIZED', 'This route has no authenticated caller.');
}

/** Whether a route, by its template and method, is one of those given. */
export function createRouteMatcher(routes: PublicRoute[]): RouteMatcher {
  const entries = routes.map((route) => (typeof route === 'string' ? { path: route } : route));
  const exact = new Map<string, Set<string | undefined>>();
  const prefixes: { prefix: string; method: string | undefined }[] = [];
  for (const { path, method } of entries as { path: string; method?: string }[]) {
    const wanted = method?.toUpperCase();
    const [, prefix] = /^(.*?)(?:\(\.\*\)|\*)$/.exec(path) ?? [];
    if (prefix !== undefined) prefixes.push({ prefix, method: wanted });
    else exact.set(path, (exact.get(path) ?? new Set()).add(wanted));
  }
  return (url, anyMethod) => {
    const method = anyMethod === 'HEAD' ? 'GET' : anyMethod;
    const methods = exact.get(url);
    if (methods?.has(undefined) || methods?.has(method)) return true;
    return prefixes.some(({ prefix, method: wanted }) => url.startsWith(prefix) && (wanted ?? method) === method);
  };
}
