// Every query of the protocol. The path of a request: here → route-table.ts → query-call.ts → cache.ts →
// decode-request.ts → upstream.ts → encode-response.ts (the last two by way of ask-node.ts).
import { AppError } from '@palaver/contract';
import { setSpanRoute } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toFailureAnswer, type WriteError } from '../answer.ts';
import { type Authorize, type Authorized, requireAuthorized } from '../auth/authorize.ts';
import type { LiveTable } from '../live-table.ts';
import { readMetadata } from '../metadata.ts';
import { cleanPath, escapePath } from '../request/clean-path.ts';
import { decodeEscapes } from '../request/parse-query.ts';
import type { RouteTable } from '../route-table.ts';
import { failure } from '../upstream/call.ts';
import { type Asked, type CallParts, QueryCall } from './query-call.ts';

export interface QueryParts extends CallParts {
  live: LiveTable;
  authorize: Authorize;
  writeError: WriteError;
}

const allowed = 'GET, HEAD, OPTIONS';

/** A promise where a node has to be asked. */
export type QueryHandler = (request: FastifyRequest, reply: FastifyReply) => undefined | Promise<undefined>;

export function createQueryHandler(parts: QueryParts): QueryHandler {
  const { live, authorize, writeError } = parts;
  return function handleQuery(request, reply) {
    const url = request.raw.url ?? '/';
    const mark = url.indexOf('?');
    const query = mark === -1 ? '' : url.slice(mark + 1);
    const path = decodeEscapes(mark === -1 ? url : url.slice(0, mark));
    if (path === undefined) throw new AppError('BAD_REQUEST', 'The path has a malformed escape.');
    if (request.method === 'OPTIONS') return sent(reply.code(204).header('allow', allowed).send());
    const clean = cleanPath(path);
    if (clean !== path) return sent(reply.redirect(escapePath(clean) + (query && `?${query}`), 301));

    const snapshot = live.current();
    if (!snapshot) {
      const { status, headers, body } = toFailureAnswer(failure('unreachable'), [], writeError);
      return sent(reply.code(status).headers(headers).send(body));
    }
    const match = snapshot.table.match(path);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!match || !isRead) throw refuseMethod(request, reply, { path, table: snapshot.table, isQuery: Boolean(match) });
    const { route } = match;
    setSpanRoute(request.method, route.template);
    if (route.legacy) markDeprecated(reply, path, route.legacy);

    const asked = { request, reply, url, path, query, match, snapshot };
    const deciding = authorize(request, path);
    if ('then' in deciding) return deciding.then((authorized) => answer(parts, asked, authorized));
    return answer(parts, asked, deciding);
  };
}

function answer(parts: QueryParts, asked: Asked, authorized: Authorized): undefined | Promise<undefined> {
  const { request, reply } = asked;
  requireAuthorized(authorized, reply);
  const metadata = readMetadata(request.headers, parts.options);
  if (!metadata.ok) throw new AppError('BAD_REQUEST', metadata.message);
  return new QueryCall(parts, asked, metadata).answer();
}

/** The server takes a reply for a promise and would wait for one that was sent. */
function sent(_reply: FastifyReply): undefined {
  return undefined;
}

/** The router takes other characters for a pattern, which may be a broken one. */
const plainPath = /^[\w./-]+$/;

function refuseMethod(
  { method, server }: FastifyRequest,
  reply: FastifyReply,
  { path, table, isQuery }: { path: string; table: RouteTable; isQuery: boolean },
): AppError {
  // The gateway's own pages come here only with a method that they do not have.
  const isPage =
    method !== 'GET' && method !== 'HEAD' && plainPath.test(path) && server.hasRoute({ method: 'GET', url: path });
  if (!isQuery && !isPage && !table.isElsewhere(path)) return unknownPath(path, table.prefixes);
  const methods = isQuery || isPage ? allowed : 'OPTIONS';
  reply.header('allow', methods);
  return new AppError('METHOD_NOT_ALLOWED', `This gateway only answers queries. Allowed here: ${methods}.`);
}

function unknownPath(path: string, prefixes: string[]): AppError {
  const served = prefixes.length > 0 ? `It serves paths under ${prefixes.join(', ')}` : 'It serves no paths yet';
  return new AppError('NOT_FOUND', `This gateway has no route ${path.slice(0, 200)}. ${served}; see /openapi.json.`);
}

function markDeprecated(reply: FastifyReply, path: string, legacy: { prefix: string; successor: string }): void {
  const successor = escapePath(legacy.successor + path.slice(legacy.prefix.length));
  reply.header('deprecation', 'true').header('link', `<${successor}>; rel="successor-version"`);
}
