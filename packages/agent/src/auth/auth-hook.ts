import { AppError } from '@palaver/contract';
import { timeZoneSchema } from '@palaver/contract/internal';
import { clientAddress, type Server } from '@palaver/service-kit';
import { setRateHeaders, toAddressKey } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Sender } from '../define/agent-run.ts';
import { type AuthorizeOptions, authorize, type ClientKey, type Identity, readCredentials } from './authorize.ts';
import { type OpenConnections, tooManyOpen } from './open-connections.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes a UCAN as a bare `Authorization: Bearer`, for clients that cannot send `X-Auth-Type`. */
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

/** A route that asks for no credentials. `*` at the end stands for the rest, as `(.*)` of the specification does. */
export type PublicRoute = string | { path: string; method?: string };

export type RouteMatcher = (url: string, method: string) => boolean;

/** How long a reply continues after the expiry of the token that asked for it; a client then asks for the rest with a new one. */
const replyGraceMs = 15 * 60_000;

interface AuthParts extends AuthorizeOptions {
  isPublic: RouteMatcher;
  connections: OpenConnections;
  clientKey: ClientKey;
  /** Whose data is being erased. */
  isErased(did: string): boolean;
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
    const { chain, expiration, did } = result.identity;
    if (['POST', 'PUT', 'PATCH'].includes(request.method) && options.isErased(did)) {
      reply.header('retry-after', '1');
      throw new AppError('UNAVAILABLE', 'Your data is being erased. Please try again in a moment.');
    }
    // Deleting and revoking take no time, and whoever holds a user's delegation must not keep the user from it.
    const leave =
      request.method === 'DELETE'
        ? () => {}
        : connections.takeReply({ userDid: did, client: options.clientKey(request) });
    if (!leave) {
      reply.header('retry-after', '5');
      throw tooManyOpen();
    }
    // A stream may be under way for hours.
    const end = () => void reply.raw.destroy();
    const remove = connections.add({ chain, expiration, graceMs: replyGraceMs, endsWhenShared: false, end });
    request.outliveToken = remove;
    reply.raw.once('close', () => {
      remove();
      leave();
    });
  });
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

export function createRouteMatcher(routes: PublicRoute[]): RouteMatcher {
  const entries = routes.map((route) => {
    const { path, method = undefined } = typeof route === 'string' ? { path: route } : route;
    return { path, method: method?.toUpperCase(), prefix: /^(.*?)(?:\(\.\*\)|\*)$/.exec(path)?.[1] };
  });
  return (url, anyMethod) => {
    const asked = anyMethod === 'HEAD' ? 'GET' : anyMethod;
    return entries.some(
      ({ path, method = asked, prefix }) =>
        method === asked && (prefix === undefined ? url === path : url.startsWith(prefix)),
    );
  };
}

/** A time zone of the message itself wins over the header. */
export type SenderOf = (
  request: FastifyRequest,
  reply: FastifyReply,
  body?: { timezone?: string | undefined },
) => Sender;

export function createSenderOf(clientKey: ClientKey): SenderOf {
  return (request, reply, body) => {
    const { did, delegation } = identityOf(request);
    return {
      userDid: did,
      requestId: request.id,
      delegation: delegation?.token,
      timezone: body?.timezone ?? readTimeZone(request),
      secrets: {
        matrixAccessToken: headerOf(request, 'x-matrix-access-token'),
        matrixHomeserver: headerOf(request, 'x-matrix-homeserver'),
      },
      client: clientKey(request),
      socketId: readSocketId(request),
      onCounted(standing) {
        if (standing) setRateHeaders(reply, standing);
      },
    };
  };
}

/** One that cannot be a socket's id is ignored: it only says which tab gets calls first. */
function readSocketId(request: FastifyRequest): string | undefined {
  const id = headerOf(request, 'x-socket-id');
  return id && /^[\w-]{1,64}$/.test(id) ? id : undefined;
}

function readTimeZone(request: FastifyRequest): string | undefined {
  const zone = headerOf(request, 'x-timezone');
  if (zone === undefined || timeZoneSchema.safeParse(zone).success) return zone;
  const issues = [{ path: 'x-timezone', message: 'must be an IANA time zone name, for example Africa/Nairobi' }];
  throw new AppError('VALIDATION_FAILED', `x-timezone: "${zone.slice(0, 60)}" is not a time zone.`, {
    details: { issues },
  });
}

export function headerOf(request: FastifyRequest, name: string): string | undefined {
  return [request.headers[name]].flat()[0] || undefined;
}
