// One query of one client: from the cache, or from a node by way of ask-node.ts.
import { AppError } from '@palaver/contract';
import { isUnchanged } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Answer, etagOf } from '../answer.ts';
import type { AskNode, Query } from '../ask-node.ts';
import type { Cache, Loading, Shared } from '../cache.ts';
import { chooseEncoding, compress, toEncodedTag } from '../compress.ts';
import { decodeRequest, hasField } from '../decode-request.ts';
import type { HeightFloors } from '../height-floors.ts';
import type { Snapshot } from '../live-table.ts';
import type { MetadataOptions, RequestMetadata } from '../metadata.ts';
import type { CacheState, GatewayMetrics } from '../metrics.ts';
import { parseQuery } from '../request/parse-query.ts';
import type { Match, Route } from '../route-table.ts';

export interface CallParts {
  cache: Cache<Answer>;
  ask: AskNode;
  metrics: GatewayMetrics;
  floors: HeightFloors;
  options: QueryOptions;
}

export interface QueryOptions extends MetadataOptions {
  /** How long answers are kept; with 0 none is, and equal requests share a call only while it runs. */
  ttlMs: number;
  pinnedTtlMs: number;
  /** Whether answers may be kept by caches on the way. */
  isPublic: boolean;
  vary: string;
}

/** A request for a path that has a route. */
export interface Asked {
  request: FastifyRequest;
  reply: FastifyReply;
  url: string;
  /** Decoded. */
  path: string;
  query: string;
  match: Match;
  snapshot: Snapshot;
}

export class QueryCall {
  private readonly parts: CallParts;
  private readonly asked: Asked;
  private readonly metadata: RequestMetadata;
  private readonly isLatest: boolean;
  private readonly isKept: boolean;
  private readonly key: string;
  private readonly minHeight: number;

  constructor(parts: CallParts, asked: Asked, metadata: RequestMetadata) {
    this.parts = parts;
    this.asked = asked;
    this.metadata = metadata;
    this.isLatest = metadata.height === '';
    this.isKept = !metadata.hasCredentials && parts.options.ttlMs > 0;
    this.key = toCacheKey(asked.snapshot, asked.url, metadata);
    this.minHeight = this.isLatest ? Math.max(metadata.minHeight, parts.floors.of(asked.request.raw.socket)) : 0;
  }

  /** Throws for a request that no node could answer. */
  answer(): undefined | Promise<undefined> {
    const kept = this.isKept ? this.parts.cache.find(this.key) : undefined;
    if (kept && !this.isBehind(kept)) return this.send(kept, 'hit', this.lifeOf(kept));

    const query = this.toQuery();
    if (this.metadata.hasCredentials) {
      const { value, cancel } = this.parts.ask(query);
      this.whenLeft(cancel);
      return value.then((answer) => this.send(answer, 'miss', 0));
    }
    let run = this.share(query, '');
    this.whenLeft(() => run.leave());
    return run.value.then((answer) => {
      if (!run.shared || !this.isBehind(answer)) return this.finish(answer, run.shared);
      // The call was begun for a client that has not come as far.
      run = this.share(query, `\n${this.minHeight}`);
      return run.value.then((own) => this.finish(own, run.shared));
    });
  }

  private toQuery(): Query {
    const { match, query, snapshot } = this.asked;
    const decoded = decodeRequest(match, query);
    if (!decoded.ok) throw new AppError('BAD_REQUEST', decoded.message);
    const { metadata, minHeight } = this;
    return {
      route: match.route,
      bytes: decoded.bytes,
      metadata,
      minHeight,
      proto3: wantsProto3(match, query),
      snapshot,
    };
  }

  private share(query: Query, suffix: string): Shared<Answer> {
    const { cache } = this.parts;
    return cache.share(`${this.key}\n${this.metadata.timeoutMs}${suffix}`, (): Loading<Answer> => {
      const { value, cancel } = this.parts.ask(query);
      if (!this.isKept) return { value, cancel };
      const kept = value.then((answer) => {
        if (answer.keeps) this.keep(answer);
        return answer;
      });
      return { value: kept, cancel };
    });
  }

  private keep(answer: Answer): void {
    const { path, match } = this.asked;
    const { template, legacy } = match.route;
    const keptMs = this.lifeOf(answer);
    // Legacy routes add headers of their own.
    if (!legacy)
      answer.hit = { path, template, isLatest: this.isLatest, headers: this.toHeaders(answer, 'hit', keptMs) };
    this.parts.cache.keep(this.key, answer, keptMs);
  }

  private toHeaders(answer: Answer, state: CacheState, keptMs: number): Record<string, string | string[]> {
    const { vary } = this.parts.options;
    return {
      ...answer.headers,
      'x-cache': state === 'stale' ? 'hit' : state,
      'cache-control': this.toCacheControl(answer, keptMs),
      vary: [vary, ...this.metadata.otherHeaders].join(', '),
    };
  }

  private finish(answer: Answer, isShared: boolean): undefined | Promise<undefined> {
    const stale = answer.isOutage ? this.parts.cache.findStale(this.key) : undefined;
    if (stale && !this.isBehind(stale)) return this.send(stale, 'stale', 0);
    return this.send(answer, isShared ? 'shared' : 'miss', this.isKept ? this.lifeOf(answer) : 0);
  }

  private send(answer: Answer, state: CacheState, keptMs: number): undefined | Promise<undefined> {
    const { metrics, floors } = this.parts;
    const { request, reply, match } = this.asked;
    metrics.countRequest(match.route.template, state, answer.grpcCode);
    floors.raise(request.raw.socket, answer.height, this.isLatest);
    reply.headers(state === 'hit' && answer.hit ? answer.hit.headers : this.toHeaders(answer, state, keptMs));
    if (state === 'hit' || state === 'stale') reply.header('age', ageOf(answer));
    if (state === 'stale') reply.header('warning', '110 - "Response is Stale"');
    const encoding = chooseEncoding(request.headers['accept-encoding'], answer.body);
    const wanted = request.headers['if-none-match'];
    // The tag is a hash: it is made for answers that are kept, and for clients that ask by one.
    const etag = this.isKept || wanted !== undefined ? etagOf(answer) : '';
    if (etag !== '') {
      reply.header('etag', encoding ? toEncodedTag(etag, encoding) : etag);
      if (isUnchanged(wanted, etag)) return void reply.code(304).send();
    }
    reply.code(answer.status);
    if (!encoding) return void reply.send(answer.body);
    return compress(answer.body, encoding).then((body) => {
      reply.header('content-encoding', encoding).send(body);
      return undefined;
    });
  }

  /** What is not there may still come: a node that was asked for a height may not have had it. */
  private lifeOf({ grpcCode }: Answer): number {
    const { ttlMs, pinnedTtlMs } = this.parts.options;
    return this.isLatest || grpcCode !== 0 || isAlwaysLive(this.asked.match.route) ? ttlMs : pinnedTtlMs;
  }

  /** Caches on the way know the headers of `Vary` from earlier replies only, so answers to others are for this client alone. */
  private toCacheControl(answer: Answer, keptMs: number): string {
    const { hasCredentials, otherHeaders } = this.metadata;
    const seconds = Math.floor(keptMs / 1000);
    if (!answer.keeps || hasCredentials) return 'no-store';
    const isPublic = this.parts.options.isPublic && otherHeaders.length === 0;
    return seconds > 0 ? `${isPublic ? 'public' : 'private'}, max-age=${seconds}` : 'no-cache';
  }

  private isBehind({ height }: Answer): boolean {
    return height !== undefined && height < this.minHeight;
  }

  /** Calls back when the client is gone before the reply was written. */
  private whenLeft(leave: () => void): void {
    const { raw } = this.asked.reply;
    raw.once('close', () => {
      if (!raw.writableEnded) leave();
    });
  }
}

export function toCacheKey({ version }: Snapshot, url: string, { key }: RequestMetadata): string {
  return `${version}\n${url}\n${key}`;
}

/** In seconds. */
export function ageOf({ madeAt }: Answer): number {
  return Math.max(0, Math.floor((Date.now() - madeAt) / 1000));
}

/** Services that answer from the node itself and not from the state of a block: a height changes nothing there. */
const liveServices = /^cosmos\.(?:base\.(?:tendermint|node|reflection)|tx|reflection)\./;

function isAlwaysLive({ method }: Route): boolean {
  return liveServices.test(method.parent.typeName);
}

/** `?json=proto3`, unless the request has a field of that name. */
function wantsProto3({ route }: Match, query: string): boolean {
  if (!query.includes('json=') || hasField(route.method.input, 'json')) return false;
  const parsed = parseQuery(query);
  return parsed.ok && parsed.values.get('json')?.[0] === 'proto3';
}
