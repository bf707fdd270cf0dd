// Calls to the CometBFT RPC of a node. Equal calls at the same time share one, answers about a given height are kept.
import type { Logger } from '@palaver/service-kit';
import { AnswerTooLargeError, fetchBounded } from '@palaver/service-kit/internal';
import type { Cache } from '../cache.ts';
import { parseNodeReply, type RpcError } from './node-reply.ts';
import { isFinal, isWrite } from './rpc-methods.ts';

/** `result` is JSON text; `isFinal` if it will never be another. */
export type RpcReply =
  | { ok: true; result: string; isFinal: boolean }
  | { ok: false; error: RpcError; isOutage?: boolean };

export interface RpcCall {
  method: string;
  params: unknown;
  /** The query of a call in URI style, which the node reads itself. */
  query?: string;
}

export interface RpcClient {
  /** Never rejects; a failure is a reply. */
  call(call: RpcCall, signal: AbortSignal): Promise<RpcReply>;
}

export interface RpcClientOptions {
  /** `http://node:26657`. */
  url: string;
  timeoutMs: number;
  cache: Cache<RpcReply>;
  pinnedTtlMs: number;
  logger: Logger;
}

const maxBytes = 16 * 1024 * 1024;
const internalError = -32603;

export function createRpcClient({ url, timeoutMs, cache, pinnedTtlMs, logger }: RpcClientOptions): RpcClient {
  let isDown = false;
  /** Logs the first of several failures, and the end of them. */
  const note = (cause?: string) => {
    if (isDown === (cause !== undefined)) return;
    isDown = cause !== undefined;
    if (isDown) logger.warn({ cause }, 'the RPC of the node cannot be reached');
    else logger.info('the RPC of the node was reached again');
  };
  const ask = async (call: RpcCall, signal: AbortSignal): Promise<RpcReply> => {
    try {
      const { address, ...init } = toHttp(url, call);
      const response = await fetchBounded(address, { ...init, signal, timeoutMs, maxBytes });
      const reply = parseNodeReply(await response.text());
      // A load balancer may answer with JSON of its own. Nodes send errors with a status of their own, but no results.
      if (!reply || !(reply.error || response.ok)) throw new Error(`HTTP ${response.status} without JSON-RPC`);
      note();
      const { result, resultText, error } = reply;
      if (error) return { ok: false, error };
      return { ok: true, result: resultText, isFinal: isFinal(call.method, call.params, result) };
    } catch (error) {
      if (error instanceof AnswerTooLargeError) return refuse('the answer of the node is larger than 16 MiB');
      const { name, message, cause } = error as Error;
      const isLate = name === 'TimeoutError';
      if (!signal.aborted) note(cause instanceof Error ? cause.message || message : message);
      return { ...refuse(isLate ? 'the node did not answer in time' : 'the node cannot be reached'), isOutage: true };
    }
  };

  return {
    async call(call, signal) {
      if (isWrite(call.method)) return ask(call, signal);
      const key = `${call.method}\n${call.query ?? ''}\n${JSON.stringify(call.params ?? {})}`;
      const kept = cache.find(key);
      if (kept) return kept;
      const { value, leave } = cache.share(key, () => {
        const controller = new AbortController();
        const askAndKeep = async () => {
          const reply = await ask(call, controller.signal);
          if (reply.ok && reply.isFinal) cache.keep(key, reply, pinnedTtlMs);
          return reply;
        };
        return { value: askAndKeep(), cancel: () => controller.abort() };
      });
      signal.addEventListener('abort', leave, { once: true });
      try {
        return await value;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
  };
}

function toHttp(url: string, { method, params, query }: RpcCall) {
  if (query !== undefined) return { address: `${url.replace(/\/$/, '')}/${method}?${query}`, method: 'GET' };
  return {
    address: url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params ?? {} }),
  };
}

export function weighReply(reply: RpcReply): number {
  return reply.ok ? reply.result.length : 0;
}

function refuse(message: string): RpcReply & { ok: false } {
  return { ok: false, error: { code: internalError, message } };
}
