import { parseJson } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import { AnswerTooLargeError, fetchBounded } from '@palaver/service-kit/internal';
import { type Cache, pinnedTtlMs } from '../cache.ts';

// Equal calls at the same time share one, and answers about a given height are kept.

/** `result` is JSON text; `isFinal` if it will never be another. */
export type RpcReply =
  | { ok: true; result: string; isFinal: boolean }
  | { ok: false; error: RpcError; isOutage?: boolean };

interface RpcCall {
  method: string;
  params: unknown;
  /** The query of a call in URI style, which the node reads itself. */
  query?: string;
}

interface RpcClientOptions {
  url: string;
  timeoutMs: number;
  cache: Cache<RpcReply>;
  logger: Logger;
}

const maxBytes = 16 * 1024 * 1024;
const internalError = -32603;

export function createRpcClient({ url, timeoutMs, cache, logger }: RpcClientOptions) {
  let isDown = false;
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
    /** Never rejects; a failure is a reply. */
    async call(call: RpcCall, signal: AbortSignal): Promise<RpcReply> {
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

type RpcClient = ReturnType<typeof createRpcClient>;

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

interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** What a node answers, with the text of its result as it was written: numbers may be too long for JavaScript. */
interface NodeReply {
  id?: unknown;
  result?: unknown;
  resultText: string;
  error?: RpcError;
}

/** What nodes write before the result, which they write last. */
const beforeResult = /^\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+|null)\s*,\s*)*"result"\s*:/;

/** Reads JSON-RPC from a node; undefined for anything else, such as the JSON of a proxy. */
export function parseNodeReply(text: string): NodeReply | undefined {
  const [head] = beforeResult.exec(text) ?? [];
  const resultText = head ? text.slice(head.length, text.lastIndexOf('}')).trim() : '';
  const result = parseJson(resultText);
  if (head && result !== undefined) return { ...toObject(parseJson(`${head}null}`)), result, resultText };
  const { id, result: other, error } = toObject(parseJson(text));
  if (isRpcError(error)) return { id, error, resultText: '' };
  return other === undefined ? undefined : { id, result: other, resultText: JSON.stringify(other) };
}

function isRpcError(error: unknown): error is RpcError {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number';
}

/** Methods of CometBFT's RPC that are passed on unless `GATEWAY_RPC_METHODS` says otherwise: no peers, no whole genesis. */
export const defaultRpcMethods = [
  'abci_info',
  'abci_query',
  'block',
  'block_by_hash',
  'block_results',
  'block_search',
  'blockchain',
  'broadcast_tx_async',
  'broadcast_tx_sync',
  'commit',
  'consensus_params',
  'header',
  'header_by_hash',
  'health',
  'status',
  'subscribe',
  'tx',
  'tx_search',
  'unsubscribe',
  'unsubscribe_all',
  'validators',
];

/** Where the answers to calls about a height say which one they are about. */
const heightOf: Record<string, (result: JsonObject) => unknown> = {
  // A node that has not reached the height, or has pruned it, answers with an error code or from another one.
  abci_query: ({ response }) => (toObject(response).code ? undefined : toObject(response).height),
  block: ({ block }) => toObject(toObject(block).header).height,
  block_results: ({ height }) => height,
  consensus_params: ({ block_height: height }) => height,
  header: ({ header }) => toObject(header).height,
  validators: ({ block_height: height }) => height,
};
const foundOf: Record<string, (result: JsonObject) => unknown> = {
  block_by_hash: ({ block }) => toObject(block).header,
  header_by_hash: ({ header }) => header,
  tx: ({ hash }) => hash,
};

/** Whether an answer cannot change any more: it holds the very object that was asked for, by its height or hash. */
function isFinal(method: string, params: unknown, result: unknown): boolean {
  if (foundOf[method]?.(toObject(result))) return true;
  const { height } = toObject(params);
  // An object has a text of its caller's making, or none; a list is a parameter that came more than once.
  if (typeof height !== 'string' && typeof height !== 'number') return false;
  const [, digits] = /^"?([1-9]\d*)"?$/.exec(`${height}`) ?? [];
  return digits !== undefined && `${heightOf[method]?.(toObject(result))}` === digits;
}

type JsonObject = Record<string, unknown>;

function toObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
}

export function isWrite(method: string): boolean {
  return method.startsWith('broadcast_');
}

export interface AnswerParts {
  client: RpcClient;
  allowed: Set<string>;
}

const invalidRequest: RpcError = { code: -32600, message: 'Invalid Request' };
export const parseError: RpcError = { code: -32700, message: 'Parse error' };

export function toRpcRequest(json: unknown): { id: unknown; method: string; params: unknown } | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { id, method, params } = json as Record<string, unknown>;
  const isId = id === null || ['string', 'number', 'undefined'].includes(typeof id);
  return isId && typeof method === 'string' ? { id, method, params } : undefined;
}

export async function answerRpc(
  json: unknown,
  { client, allowed }: AnswerParts,
  signal: AbortSignal,
): Promise<{ text: string; isOutage: boolean }> {
  const request = toRpcRequest(json);
  if (!request) return { text: toRpcText(null, { ok: false, error: invalidRequest }), isOutage: false };
  if (!allowed.has(request.method))
    return { text: toRpcText(request.id, { ok: false, error: notAllowed(request.method) }), isOutage: false };
  const reply = await client.call(request, signal);
  return { text: toRpcText(request.id, reply), isOutage: !reply.ok && reply.isOutage === true };
}

export function notAllowed(method: string): RpcError {
  return { code: -32601, message: 'Method not found', data: `this gateway does not pass on ${method.slice(0, 100)}` };
}

export function toRpcText(id: unknown, reply: { ok: true; result: string } | { ok: false; error: RpcError }): string {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id ?? null)}`;
  return reply.ok ? `${head},"result":${reply.result}}` : `${head},"error":${JSON.stringify(reply.error)}}`;
}
