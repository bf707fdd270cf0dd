import { create, type DescMethod, type DescService, toBinary } from '@bufbuild/protobuf';
import { heightHeader } from '@palaver/contract/internal';
import { LRUCache } from 'lru-cache';
import { parseHeight } from './chain.ts';
import { type Answerer, type Method, parseMessage, type Reply } from './grpc/method.ts';
import type { Query, View } from './queries/query.ts';
import { refuse } from './refusal.ts';

/** Keeps encoded answers by request until the world changes: encoding a list costs ten times the rest of a call. */
export type ReplyMemo = ReturnType<typeof createReplyMemo>;

export function createReplyMemo() {
  return new LRUCache<string, Uint8Array>({
    maxSize: 16 * 1024 * 1024,
    sizeCalculation: (message, key) => key.length + message.length,
  });
}

export interface QueryService {
  service: DescService;
  queries: Record<string, Query>;
  view: View;
  /** Given where answers follow from the request alone. */
  memo?: ReplyMemo;
}

/** The methods of a query service by path. One that is declared without a query is answered UNIMPLEMENTED. */
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
