// Every query of the protocol. The path of a request: here → route-table.ts → cache.ts → decode-request.ts →
// upstream.ts → encode-response.ts (the last two by way of ask-node.ts).
import { AppError } from '@palaver/contract';
import { setSpanRoute } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Answer, etagOf, toFailureAnswer, type WriteError } from '../answer.ts';
import type { AskNode, Query } from '../ask-node.ts';
import type { Authorize } from '../auth/authorize.ts';
import type { Cache, Loading } from '../cache.ts';
import { chooseEncoding, compress, toEncodedTag } from '../compress.ts';
import { decodeRequest, hasField } from '../decode-request.ts';
import type { Extensions } from '../extensions.ts';
import type { HeightFloors } from '../height-floors.ts';
import type { LiveTable } from '../live-table.ts';
import { readMetadata } from '../metadata.ts';
import type { CacheState, GatewayMetrics } from '../metrics.ts';
import { cleanPath, escapePath } from '../request/clean-path.ts';
import { decodeEscapes, parseQuery } from '../request/parse-query.ts';
import type { Match, Route } from '../route-table.ts';
import { failure } from '../upstream/call.ts';
import { isUnchanged } from './is-unchanged.ts';

export interface QueryParts {
  live: LiveTable;
  cache: Cache<Answer>;
  authorize: Authorize;
  ask: AskNode;
  metrics: GatewayMetrics;
  floors: HeightFloors;
  writeError: WriteError;
  options: QueryOptions;
}

export interface QueryOptions {
  timeoutMs: number;
  forwardAuth: boolean;
  matchHeader?: Extensions['matchHeader'];
  /** How long answers are kept; with 0 none is, and equal requests share a call only while it runs. */
  ttlMs: number;
  pinnedTtlMs: number;
  /** Whether answers may be kept by caches on the way. */
  isPublic: boolean;
  vary: string;
}

const allowed = 'GET, HEAD, OPTIONS';

export function createQueryHandler(parts: QueryParts) {
  const { live, cache, authorize, ask, metrics, floors, writeError, options } = parts;
  return async function handleQuery(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const url = request.raw.url ?? '/';
    const mark = url.indexOf('?');
    const query = mark === -1 ? '' : url.slice(mark + 1);
    const path = decodeEscapes(mark === -1 ? url : url.slice(0, mark));
    if (path === undefined) throw new AppError('BAD_REQUEST', 'The path has a malformed escape.');
    if (request.method === 'OPTIONS') return reply.code(204).header('allow', allowed).send();
    const clean = cleanPath(path);
    if (clean !== path) return reply.redirect(escapePath(clean) + (query && `?${query}`), 301);

    const snapshot = live.current();
    if (!snapshot) {
      const { status, headers, body } = toFailureAnswer(failure('unreachable'), [], writeError);
      return reply.code(status).headers(headers).send(body);
    }
    const match = snapshot.table.match(path);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!match || !isRead) throw refuseMethod(Boolean(match));
    const { route } = match;
    setSpanRoute(request.method, route.template);
    if (route.legacy) markDeprecated(reply, path, route.legacy);

    const deciding = authorize(request, path);
    const authorized = 'then' in deciding ? await deciding : deciding;
    if (!authorized.ok) {
      reply.headers(authorized.headers ?? {});
      throw authorized.error;
    }
    const metadata = readMetadata(request.headers, options);
    if (!metadata.ok) throw new AppError('BAD_REQUEST', metadata.message);

    const ttlMs = metadata.height === '' || isAlwaysLive(route) ? options.ttlMs : options.pinnedTtlMs;
    const isShared = !metadata.hasCredentials;
    const isKept = isShared && options.ttlMs > 0;
    const key = `${snapshot.version}\n${url}\n${metadata.key}`;
    const isLatest = metadata.height === '';
    const { socket } = request.raw;
    const minHeight = isLatest ? Math.max(metadata.minHeight, floors.of(socket)) : 0;
    // What is not there may still come: a node that was asked for a height may not have had it.
    const lifeOf = ({ grpcCode }: Answer) => (grpcCode === 0 ? ttlMs : Math.min(ttlMs, options.ttlMs));
    const isBehind = ({ height }: Answer) => height !== undefined && height < minHeight;
    const kept = isKept ? cache.find(key) : undefined;
    if (kept && !isBehind(kept)) return send(kept, 'hit', lifeOf(kept));

    const decoded = decodeRequest(match, query);
    if (!decoded.ok) throw new AppError('BAD_REQUEST', decoded.message);
    const proto3 = wantsProto3(match, query);
    const asked: Query = { route, bytes: decoded.bytes, metadata, minHeight, proto3, snapshot };
    if (!isShared) {
      const { value, cancel } = ask(asked);
      whenLeft(reply, cancel);
      return send(await value, 'miss', 0);
    }

    const load = (): Loading<Answer> => {
      const { value, cancel } = ask(asked);
      if (!isKept) return { value, cancel };
      const kept = value.then((answer) => {
        if (answer.keeps) cache.keep(key, answer, lifeOf(answer));
        return answer;
      });
      return { value: kept, cancel };
    };
    let run = cache.share(`${key}\n${metadata.timeoutMs}`, load);
    whenLeft(reply, () => run.leave());
    let answer = await run.value;
    if (run.shared && isBehind(answer)) {
      // The call was begun for a client that has not come as far.
      run = cache.share(`${key}\n${metadata.timeoutMs}\n${minHeight}`, load);
      answer = await run.value;
    }
    const stale = answer.isOutage ? cache.findStale(key) : undefined;
    return stale ? send(stale, 'stale', 0) : send(answer, run.shared ? 'shared' : 'miss', isKept ? lifeOf(answer) : 0);

    function refuseMethod(isQuery: boolean): AppError {
      // The gateway's own pages come here only with a method that they do not have.
      const isPage = !isRead && request.server.hasRoute({ method: 'GET', url: path ?? '' });
      if (!isQuery && !isPage && !snapshot?.table.isElsewhere(path ?? ''))
        return unknownPath(path ?? '', snapshot?.table.prefixes ?? []);
      const methods = isQuery || isPage ? allowed : 'OPTIONS';
      reply.header('allow', methods);
      return new AppError('METHOD_NOT_ALLOWED', `This gateway only answers queries. Allowed here: ${methods}.`);
    }

    function send(answer: Answer, state: CacheState, keptMs: number): FastifyReply | Promise<FastifyReply> {
      metrics.countRequest(route.template, state, answer.grpcCode);
      if (isLatest) floors.raise(socket, answer.height);
      reply.headers(answer.headers);
      reply.header('x-cache', state === 'stale' ? 'hit' : state);
      reply.header('cache-control', toCacheControl(answer, keptMs, options.isPublic));
      reply.header('vary', options.vary);
      if (state === 'hit' || state === 'stale')
        reply.header('age', Math.max(0, Math.floor((Date.now() - answer.madeAt) / 1000)));
      if (state === 'stale') reply.header('warning', '110 - "Response is Stale"');
      const encoding = chooseEncoding(request.headers['accept-encoding'], answer.body);
      const wanted = request.headers['if-none-match'];
      // The tag is a hash: it is made for answers that are kept, and for clients that ask by one.
      const etag = isKept || wanted !== undefined ? etagOf(answer) : '';
      if (etag !== '') {
        reply.header('etag', encoding ? toEncodedTag(etag, encoding) : etag);
        if (isUnchanged(wanted, etag)) return reply.code(304).send();
      }
      reply.code(answer.status);
      if (!encoding) return reply.send(answer.body);
      return compress(answer.body, encoding).then((body) => reply.header('content-encoding', encoding).send(body));
    }
  };
}

/** Services that answer from the node itself and not from the state of a block: a height changes nothing there. */
const liveServices = /^cosmos\.(?:base\.(?:tendermint|node|reflection)|tx|reflection)\./;

function isAlwaysLive({ method }: Route): boolean {
  return liveServices.test(method.parent.typeName);
}

function unknownPath(path: string, prefixes: string[]): AppError {
  const served = prefixes.length > 0 ? `It serves paths under ${prefixes.join(', ')}` : 'It serves no paths yet';
  return new AppError('NOT_FOUND', `This gateway has no route ${path.slice(0, 200)}. ${served}; see /openapi.json.`);
}

function markDeprecated(reply: FastifyReply, path: string, legacy: { prefix: string; successor: string }): void {
  const successor = escapePath(legacy.successor + path.slice(legacy.prefix.length));
  reply.header('deprecation', 'true').header('link', `<${successor}>; rel="successor-version"`);
}

/** `?json=proto3`, unless the request has a field of that name. */
function wantsProto3({ route }: Match, query: string): boolean {
  if (!query.includes('json=') || hasField(route.method.input, 'json')) return false;
  const parsed = parseQuery(query);
  return parsed.ok && parsed.values.get('json')?.[0] === 'proto3';
}

/** Calls back when the client is gone before the reply was written. */
function whenLeft(reply: FastifyReply, leave: () => void): void {
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) leave();
  });
}

function toCacheControl(answer: Answer, keptMs: number, isPublic: boolean): string {
  const seconds = Math.floor(keptMs / 1000);
  if (!answer.keeps) return 'no-store';
  return seconds > 0 ? `${isPublic ? 'public' : 'private'}, max-age=${seconds}` : 'no-cache';
}
