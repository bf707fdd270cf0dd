import { create, type DescMessage, type DescMethod, type DescService, toBinary } from '@bufbuild/protobuf';
import { heightHeader } from '@palaver/contract/internal';
import { LRUCache } from 'lru-cache';
import { type Chain, parseHeight, type Refusal, refuse, refuseArgument } from '../chain.ts';
import { type Answerer, type Method, parseMessage, type Reply } from '../grpc.ts';
import type { TxPool } from '../txs/tx-pool.ts';
import type { Row, World } from '../world/world.ts';

/** What a query may read. It has no height: the data of every height is the current data. */
export interface View {
  world: World;
  chain: Chain;
  txs: TxPool;
  descs: { account: DescMessage; tx: DescMessage };
}

export type Answer = { ok: true; response: Record<string, unknown> } | Refusal;

/** The request is `never` because each query declares the fields of its own. */
export type Query = (view: View, request: never) => Answer;

export type ById = { id: string };

export function answer(response: Record<string, unknown>): Answer {
  return { ok: true, response };
}

export interface PageRequest {
  key: Uint8Array;
  offset: bigint;
  limit: bigint;
  countTotal: boolean;
  reverse: boolean;
}

export interface Paged {
  pagination?: PageRequest | undefined;
}

interface Page<T> {
  ok: true;
  values: T[];
  pagination: { nextKey: Uint8Array; total: bigint };
}

const defaultLimit = 100n;

/** One page of a table by the rules of the Cosmos SDK, whose clients this node is for. */
export function paginate<T>(rows: readonly Row<T>[], request: PageRequest | undefined): Page<T> | Refusal {
  const { key = new Uint8Array(), offset = 0n, limit = 0n, countTotal = false, reverse = false } = request ?? {};
  if (offset > 0n && key.length > 0) {
    return refuseArgument('invalid request, either offset or key is expected, got both');
  }
  const walk = reverse ? rows.toReversed() : rows;
  const start = key.length > 0 ? findStart(walk, key, reverse) : toIndex(offset, walk.length);
  const end = toIndex(BigInt(start) + (limit || defaultLimit), walk.length);
  // Without a limit the total is given unasked; a client that continues by key got it with the first page.
  const counted = key.length === 0 && (countTotal || limit === 0n);
  return {
    ok: true,
    values: walk.slice(start, end).map(({ value }) => value),
    pagination: { nextKey: walk[end]?.key ?? new Uint8Array(), total: counted ? BigInt(walk.length) : 0n },
  };
}

export function answerPage(field: string, rows: readonly Row<unknown>[], request: PageRequest | undefined): Answer {
  const page = paginate(rows, request);
  return page.ok ? answer({ [field]: page.values, pagination: page.pagination }) : page;
}

/** A key that is gone still marks a place: the walk continues at the next higher one, also in reverse. */
function findStart<T>(walk: readonly Row<T>[], key: Uint8Array, reverse: boolean): number {
  if (!reverse) {
    const index = walk.findIndex((row) => Buffer.compare(row.key, key) >= 0);
    return index < 0 ? walk.length : index;
  }
  return Math.max(
    0,
    walk.findLastIndex((row) => Buffer.compare(row.key, key) >= 0),
  );
}

function toIndex(position: bigint, length: number): number {
  return position > BigInt(length) ? length : Number(position);
}

/** Keeps encoded answers by request until the world changes: encoding a list costs ten times the rest of a call. */
type ReplyMemo = ReturnType<typeof createReplyMemo>;

export function createReplyMemo() {
  return new LRUCache<string, Uint8Array>({
    maxSize: 16 * 1024 * 1024,
    sizeCalculation: (message, key) => key.length + message.length,
  });
}

interface QueryService {
  service: DescService;
  queries: Record<string, Query>;
  view: View;
  /** Given where answers follow from the request alone. */
  memo?: ReplyMemo;
}

/** The methods of a query service by path; those without a query are answered UNIMPLEMENTED. */
export function createQueryMethods({ service, queries, view, memo }: QueryService): [string, Method][] {
  return service.methods.map((method) => {
    const path = `/${service.typeName}/${method.name}`;
    const query = queries[method.name];
    const ask = (request: Buffer): Reply => (query ? askQuery(method, query, view, request) : notImplemented);
    const answer: Answerer = (request, headers) => {
      view.txs.advance();
      const asked = parseHeight(headers[heightHeader], view.chain.latestHeight());
      if (!asked.ok) return asked;
      const reply = memo ? remember(memo, path, request, ask) : ask(request);
      return { ...reply, metadata: { [heightHeader]: String(asked.height) } };
    };
    return [path, { streaming: false, open: () => answer }];
  });
}

const notImplemented = refuse('UNIMPLEMENTED', 'this node does not implement the method');

function askQuery({ input, output }: DescMethod, query: Query, view: View, bytes: Buffer): Reply {
  const request = parseMessage(input, bytes);
  if (!request.ok) return request;
  const answer = query(view, request.message as never);
  return answer.ok ? { ok: true, message: toBinary(output, create(output, answer.response)) } : answer;
}

function remember(memo: ReplyMemo, path: string, request: Buffer, ask: (request: Buffer) => Reply): Reply {
  const key = `${path} ${request.toString('latin1')}`;
  const kept = memo.get(key);
  if (kept) return { ok: true, message: kept };
  const reply = ask(request);
  if (reply.ok) memo.set(key, reply.message);
  return reply;
}
