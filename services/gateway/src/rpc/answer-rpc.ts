import type { RpcError } from './node-reply.ts';
import type { RpcClient } from './rpc-client.ts';

export interface RpcRequest {
  id: unknown;
  method: string;
  params: unknown;
}

export interface AnswerParts {
  client: RpcClient;
  allowed: Set<string>;
}

const invalidRequest: RpcError = { code: -32600, message: 'Invalid Request' };
export const parseError: RpcError = { code: -32700, message: 'Parse error' };

/** A JSON-RPC request from parsed JSON; undefined if it is not one. */
export function toRpcRequest(json: unknown): RpcRequest | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { id, method, params } = json as Record<string, unknown>;
  const isId = id === null || ['string', 'number', 'undefined'].includes(typeof id);
  return isId && typeof method === 'string' ? { id, method, params } : undefined;
}

/** Answers one request of a client with JSON text. */
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
