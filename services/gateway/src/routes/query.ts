import type { IncomingMessage } from 'node:http';
import { AppError } from '@palaver/contract';
import {
  createRawClientAddress,
  type FindReply,
  noteCounted,
  type RateLimit,
  type ReadyReply,
  setSpanRoute,
  type TrustProxy,
  toAddressKey,
  toRateHeaders,
} from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toFailureAnswer, type WriteError } from '../answer.ts';
import { type Authorize, authorizeAnyone, requireAuthorized } from '../auth.ts';
import { isQueued, waitForTurn } from '../height-floors.ts';
import type { LiveTable } from '../live-table.ts';
import { readMetadata } from '../metadata.ts';
import { cleanPath, decodeEscapes, escapePath } from '../request/url.ts';
import type { RouteTable } from '../route-table.ts';
import { failure } from '../upstream/call.ts';
import { type Asked, type CallParts, QueryCall } from './query-call.ts';

// Plain queries are answered without the framework. The path of a request: here → route-table.ts → query-call.ts →
// cache.ts → decode-request.ts → upstream.ts → encode-response.ts (the last two by way of ask-node.ts).

export interface QueryParts extends CallParts {
  live: LiveTable;
  authorize: Authorize;
  writeError: WriteError;
}

export const queryRoute = '/*';
const allowed = 'GET, HEAD, OPTIONS';

interface FindReplyParts extends QueryParts {
  admit: Admit;
  /** Whether the server may have a route of its own for a path, before those of the node. */
  isPage(path: string): boolean;
}

/** What is refused, and what needs more of the framework, is left to the handler. */
export function createFindReply(parts: FindReplyParts): FindReply {
  const { live, options, admit, isPage } = parts;
  return (request, response) => {
    const { method, url = '', headers } = request;
    const snapshot = live.current();
    if (!snapshot || method !== 'GET' || isQueued(response)) return undefined;
    const { path, query } = splitUrl(url);
    if (path === undefined || cleanPath(path) !== path || isPage(path)) return undefined;
    const match = snapshot.table.match(path);
    const metadata = readMetadata(headers, options);
    if (!match || match.route.legacy || !metadata.ok) return undefined;
    const call = new QueryCall(parts, { request, response, url, query, match, snapshot }, metadata);
    // A request is counted only when it is certain that it is answered here.
    const added = call.findFault() === undefined ? admit(request, path) : undefined;
    return added && call.answer(added);
  };
}

export type QueryHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export function createQueryHandler(parts: QueryParts): QueryHandler {
  const { live, authorize, writeError, options } = parts;
  return async function handleQuery(request, reply) {
    const url = request.raw.url ?? '/';
    const { path, query } = splitUrl(url);
    if (path === undefined) throw new AppError('BAD_REQUEST', 'The path has a malformed escape.');
    if (request.method === 'OPTIONS') return reply.code(204).header('allow', allowed).send();
    const clean = cleanPath(path);
    if (clean !== path) return reply.redirect(escapePath(clean) + (query && `?${query}`), 301);

    const snapshot = live.current();
    if (!snapshot) return send(reply, toFailureAnswer(failure('unreachable'), [], writeError));
    const match = snapshot.table.match(path);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!match || !isRead) throw refuseMethod(request, reply, { path, table: snapshot.table, isQuery: Boolean(match) });
    const { route } = match;
    setSpanRoute(request.method, route.template);
    if (route.legacy) markDeprecated(reply, path, route.legacy);

    requireAuthorized(await authorize(request, path), reply);
    const metadata = readMetadata(request.headers, options);
    if (!metadata.ok) throw new AppError('BAD_REQUEST', metadata.message);
    const asked: Asked = { request: request.raw, response: reply.raw, url, query, match, snapshot };
    await waitForTurn(reply.raw);
    const call = new QueryCall(parts, asked, metadata);
    const fault = call.findFault();
    if (fault !== undefined) throw new AppError('BAD_REQUEST', fault);
    return send(reply, await call.answer());
  };
}

/** The path is decoded; undefined for a malformed escape. */
function splitUrl(url: string): { path: string | undefined; query: string } {
  const mark = url.indexOf('?');
  return {
    path: decodeEscapes(mark === -1 ? url : url.slice(0, mark)),
    query: mark === -1 ? '' : url.slice(mark + 1),
  };
}

function send(reply: FastifyReply, { status, headers, body }: ReadyReply): FastifyReply {
  return setHeaders(reply, headers).code(status).send(body);
}

export function setHeaders(reply: FastifyReply, headers: string[]): FastifyReply {
  for (let index = 0; index < headers.length; index += 2) reply.header(headers[index] ?? '', headers[index + 1]);
  return reply;
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

interface AdmitParts {
  /** Without Redis, for nothing waits here. */
  limit: RateLimit | undefined;
  trustProxy: TrustProxy;
  authorize: Authorize;
}

/** Headers for the reply, names and values alternating; undefined for a request that the routes have to refuse. */
type Admit = (request: IncomingMessage, path: string) => string[] | undefined;

/** Counts a request and checks its credentials where it does not come to the routes, in the same order as they do. */
export function createAdmit({ limit, trustProxy, authorize }: AdmitParts): Admit {
  if (!limit && authorize === authorizeAnyone) return () => [];
  const addressOf = createRawClientAddress(trustProxy);
  return (request, path) => {
    const { headers, socket } = request;
    const ip = addressOf(request);
    const standing = limit?.(toAddressKey(ip));
    if (standing instanceof Promise) return undefined;
    const decided = standing?.isOver ? undefined : authorize({ headers, ip, socket, raw: request }, path);
    // A key that is over its limit stays so, however often it is counted.
    const isAdmitted = decided && !('then' in decided) && decided.ok;
    if (isAdmitted) return standing ? Object.entries(toRateHeaders(standing)).flat() : [];
    if (standing) noteCounted(request, standing);
    return undefined;
  };
}
