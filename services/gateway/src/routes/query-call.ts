import type { IncomingMessage, ServerResponse } from 'node:http';
import { isUnchanged, type ReadyReply } from '@palaver/service-kit/internal';
import { type Answer, chooseEncoding, compress, etagOf, toEncodedTag } from '../answer.ts';
import type { AskNode, Query } from '../ask-node.ts';
import { type Cache, type Loading, pinnedTtlMs, type Shared } from '../cache.ts';
import { decodeRequest, hasField } from '../decode-request.ts';
import type { HeightFloors } from '../height-floors.ts';
import type { Snapshot } from '../live-table.ts';
import type { MetadataOptions, RequestMetadata } from '../metadata.ts';
import type { CacheState, GatewayMetrics } from '../metrics.ts';
import { parseQuery } from '../request/url.ts';
import type { Match } from '../route-table.ts';

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
  /** Whether answers may be kept by caches on the way. */
  isPublic: boolean;
  vary: string;
}

export interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  url: string;
  query: string;
  match: Match;
  snapshot: Snapshot;
}

const noBytes = new Uint8Array();

export class QueryCall {
  private readonly parts: CallParts;
  private readonly asked: Asked;
  private readonly metadata: RequestMetadata;
  private readonly isLatest: boolean;
  private readonly isKept: boolean;
  private readonly key: string;
  private readonly minHeight: number;
  private kept: Answer | undefined;
  private added: string[] = [];
  private bytes: Uint8Array = noBytes;

  constructor(parts: CallParts, asked: Asked, metadata: RequestMetadata) {
    this.parts = parts;
    this.asked = asked;
    this.metadata = metadata;
    this.isLatest = metadata.height === '';
    this.isKept = !metadata.hasCredentials && parts.options.ttlMs > 0;
    this.key = `${asked.snapshot.version}\n${asked.url}\n${metadata.key}`;
    this.minHeight = this.isLatest ? Math.max(metadata.minHeight, parts.floors.of(asked.request.socket)) : 0;
  }

  /** Reads the request. Returns why no node could answer it. */
  findFault(): string | undefined {
    const kept = this.isKept ? this.parts.cache.find(this.key) : undefined;
    if (kept && !this.isBehind(kept)) {
      this.kept = kept;
      return undefined;
    }
    const decoded = decodeRequest(this.asked.match, this.asked.query);
    if (!decoded.ok) return decoded.message;
    this.bytes = decoded.bytes;
    return undefined;
  }

  /** To be called after `findFault`. `added` are further headers, names and values alternating. */
  answer(added: string[] = []): ReadyReply | Promise<ReadyReply> {
    this.added = added;
    const { kept } = this;
    if (kept) return this.toReply(kept, 'hit', this.lifeOf(kept));

    const { match, query: text, snapshot } = this.asked;
    const { bytes, metadata, minHeight } = this;
    const proto3 = wantsProto3(match, text);
    const query: Query = { route: match.route, bytes, metadata, minHeight, proto3, snapshot };
    if (this.metadata.hasCredentials) {
      const { value, cancel } = this.parts.ask(query);
      this.whenLeft(cancel);
      return value.then((answer) => this.toReply(answer, 'miss', 0));
    }
    let run = this.share(query, '');
    this.whenLeft(() => run.leave());
    return run.value.then((answer) => {
      if (!run.shared || !this.isBehind(answer)) return this.finish(answer, run.shared);
      // The call was begun for a client that has not seen that height.
      run = this.share(query, `\n${this.minHeight}`);
      return run.value.then((own) => this.finish(own, run.shared));
    });
  }

  private share(query: Query, suffix: string): Shared<Answer> {
    const { cache } = this.parts;
    return cache.share(`${this.key}\n${this.metadata.timeoutMs}${suffix}`, (): Loading<Answer> => {
      const { value, cancel } = this.parts.ask(query);
      if (!this.isKept) return { value, cancel };
      const kept = value.then((answer) => {
        const lifeMs = this.lifeOf(answer);
        if (lifeMs > 0) this.parts.cache.keep(this.key, answer, lifeMs);
        return answer;
      });
      return { value: kept, cancel };
    });
  }

  private finish(answer: Answer, isShared: boolean): ReadyReply | Promise<ReadyReply> {
    const stale = answer.isOutage ? this.parts.cache.findStale(this.key) : undefined;
    if (stale && !this.isBehind(stale)) return this.toReply(stale, 'stale', 0);
    return this.toReply(answer, isShared ? 'shared' : 'miss', this.lifeOf(answer));
  }

  private toReply(answer: Answer, state: CacheState, keptMs: number): ReadyReply | Promise<ReadyReply> {
    const { metrics, floors, options } = this.parts;
    const { request, match } = this.asked;
    const { status, body } = answer;
    metrics.countRequest(match.route.template, state, answer.grpcCode);
    floors.raise(request.socket, answer.height, this.isLatest);
    const headers = [...answer.headers, ...this.added, 'x-cache', state === 'stale' ? 'hit' : state];
    headers.push('cache-control', this.toCacheControl(answer, keptMs));
    headers.push('vary', [options.vary, ...this.metadata.otherHeaders].join(', '));
    if (state === 'hit' || state === 'stale')
      headers.push('age', String(Math.max(0, Math.floor((Date.now() - answer.madeAt) / 1000))));
    if (state === 'stale') headers.push('warning', '110 - "Response is Stale"');
    const encoding = chooseEncoding(request.headers['accept-encoding'], body);
    const wanted = request.headers['if-none-match'];
    // The tag is a hash, made only for answers that are kept and for clients that send one.
    const etag = this.isKept || wanted !== undefined ? etagOf(answer) : '';
    if (etag !== '') {
      headers.push('etag', encoding ? toEncodedTag(etag, encoding) : etag);
      if (isUnchanged(wanted, etag)) return { status: 304, headers, body: undefined };
    }
    if (!encoding) return { status, headers, body };
    headers.push('content-encoding', encoding);
    return compress(body, encoding).then((compressed) => ({ status, headers, body: compressed }));
  }

  /** An answer about another height than was asked for is not kept; one without a height counts as about the latest. */
  private lifeOf({ grpcCode, height, keeps }: Answer): number {
    const { ttlMs } = this.parts.options;
    const isAnswer = grpcCode === 0 && !liveServices.test(this.asked.match.route.method.parent.typeName);
    if (!this.isKept || !keeps) return 0;
    // What is not there may still come: a node that was asked for a height may not have had it.
    if (this.isLatest || !isAnswer || height === undefined) return ttlMs;
    return height === Number(this.metadata.height) ? pinnedTtlMs : 0;
  }

  /** Caches on the way learn `Vary` from earlier replies only, so answers that depend on other headers are private. */
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

  private whenLeft(leave: () => void): void {
    const { response } = this.asked;
    response.once('close', () => {
      if (!response.writableEnded) leave();
    });
  }
}

/** Services that answer from the node itself and not from a block's state: a height changes nothing there. */
const liveServices = /^cosmos\.(?:base\.(?:tendermint|node|reflection)|tx|reflection)\./;

/** `?json=proto3`, unless the request has a field of that name. */
function wantsProto3({ route }: Match, query: string): boolean {
  if (!query.includes('json=') || hasField(route.method.input, 'json')) return false;
  const parsed = parseQuery(query);
  return parsed.ok && parsed.values.get('json')?.[0] === 'proto3';
}
