import { heightHeader } from '@palaver/contract/internal';
import { envUrl, type VariableMeta } from '@palaver/service-kit';
import { AnswerTooLargeError, fetchBounded } from '@palaver/service-kit/internal';
import { BroadcastMode, BroadcastTxRequest, BroadcastTxResponse } from 'cosmjs-types/cosmos/tx/v1beta1/service';
import { z } from 'zod';

export const gatewayVariables = {
  GATEWAY_URL: envUrl('http:', 'https:').optional().meta({
    description: 'Address of the query gateway.',
    example: 'http://127.0.0.1:1317',
  }),
  GATEWAY_API_KEY: z
    .string()
    .min(1)
    .optional()
    .meta({
      description: 'API key that is sent to the query gateway if it has GATEWAY_AUTH=api-key.',
      example: 'k-3f9c1c2e',
      secret: true,
    } satisfies VariableMeta),
  GATEWAY_UCAN: z
    .string()
    .min(1)
    .optional()
    .meta({
      description: 'UCAN delegation that is sent to the query gateway if it has GATEWAY_AUTH=ucan.',
      example: 'OqJlcm9vdHOB2CpYJQ',
      secret: true,
    } satisfies VariableMeta),
  GATEWAY_PREFIX: z
    .string()
    .regex(/^\/[\w./-]*$/, 'expected a path such as /ixo')
    .prefault('/ixo')
    .meta({ description: "Path under which the protocol's own routes are served.", example: '/ixo' }),
};

/** The address of a query gateway and its credentials. */
export interface GatewayAccess {
  url: string;
  apiKey?: string | undefined;
  ucan?: string | undefined;
  /** Where the gateway serves the routes that the protocol has under `/ixo`. */
  prefix?: string | undefined;
  /** The gRPC interface of a node, `host:port`: transactions are sent there. Without it, through a gateway with `GATEWAY_TX=true`. */
  node?: string | undefined;
}

type GatewayConfig = { [Name in keyof typeof gatewayVariables | 'SIGNING_NODE']?: string | undefined };

export function toGatewayAccess(config: GatewayConfig): GatewayAccess | undefined {
  const { GATEWAY_URL: url, GATEWAY_API_KEY: apiKey, GATEWAY_UCAN: ucan, GATEWAY_PREFIX: prefix } = config;
  return url === undefined ? undefined : { url, apiKey, ucan, prefix, node: config.SIGNING_NODE };
}

export function toAccessHeaders({ apiKey, ucan }: Pick<GatewayAccess, 'apiKey' | 'ucan'>): Record<string, string> {
  return { ...(apiKey && { 'x-api-key': apiKey }), ...(ucan && { 'x-ucan-delegation': ucan }) };
}

/** Why the gateway gave no answer. `access` is a fault of the configuration: the credential is missing or not admitted. */
export interface GatewayFault {
  ok: false;
  kind: 'missing' | 'invalid' | 'access' | 'unsupported' | 'timeout' | 'too-large' | 'unavailable';
  status: number | undefined;
  message: string;
}

/** What the gateway answered, or why it did not. */
export type GatewayResult = { ok: true; value: unknown } | GatewayFault;

/** A client of a query gateway. */
export interface GatewayClient {
  get(path: string, options?: GatewayCall): Promise<GatewayResult>;
  /** Sends the signed bytes of a transaction, in base64. */
  broadcast(bytes: string): Promise<GatewayResult>;
}

interface GatewayCall {
  query?: Record<string, string | undefined>;
  signal?: AbortSignal;
  timeoutMs?: number;
  maxBytes?: number;
  height?: number | undefined;
}

const timeoutMs = 3_000;
const broadcastPath = '/cosmos/tx/v1beta1/txs';
const grpcFaults: Partial<Record<number, GatewayFault['kind']>> = {
  3: 'invalid',
  4: 'timeout',
  7: 'access',
  12: 'unsupported',
  16: 'access',
};
const accessMessage =
  "the query gateway does not take this service's credential; set GATEWAY_API_KEY or GATEWAY_UCAN to one that it admits";

/**
 * Queries the query gateway. Failures are returned as results. Paths are the protocol's own, `/ixo/…` and `/cosmos/…`.
 *
 * @example
 * ```ts
 * import { createGatewayClient } from '@palaver/protocol';
 *
 * const gateway = createGatewayClient({ url: 'http://127.0.0.1:1317' });
 * console.log(await gateway.get('/ixo/token/params'));
 * ```
 */
export function createGatewayClient(access: GatewayAccess): GatewayClient {
  const base = access.url.replace(/\/+$/, '');
  const prefix = (access.prefix ?? '/ixo').replace(/\/+$/, '');
  const headers = toAccessHeaders(access);

  async function call(path: string, init: RequestInit, options: GatewayCall = {}): Promise<GatewayResult> {
    const { query = {}, signal, timeoutMs: waitMs = timeoutMs, maxBytes = 4_000_000, height } = options;
    const url = new URL(base + path.replace(/^\/ixo(?=\/)/, () => prefix));
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const pinned: Record<string, string> = height === undefined ? {} : { [heightHeader]: String(height) };
    try {
      const response = await fetchBounded(url, {
        ...init,
        headers: { accept: 'application/json', ...headers, ...pinned, ...init.headers },
        ...(signal && { signal }),
        timeoutMs: waitMs,
        maxBytes,
      });
      const text = await response.text();
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      return response.ok ? { ok: true, value: body } : toRefusal(response.status, body);
    } catch (error) {
      const { name, message, cause } = error as Error;
      if (name === 'TimeoutError') return toFault('timeout', undefined, 'no answer in time');
      if (error instanceof AnswerTooLargeError) return toFault('too-large', error.status, 'the answer is too large');
      return toFault('unavailable', undefined, cause instanceof Error ? cause.message : message);
    }
  }

  return {
    get: (path, options) => call(path, {}, options),
    broadcast(bytes) {
      if (access.node !== undefined) return askNode(access.node, bytes);
      const body = JSON.stringify({ tx_bytes: bytes, mode: 'BROADCAST_MODE_SYNC' });
      return call(broadcastPath, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    },
  };
}

async function askNode(address: string, bytes: string): Promise<GatewayResult> {
  try {
    return { ok: true, value: { tx_response: await broadcastToNode(address, { bytes, timeoutMs }) } };
  } catch (error) {
    const { code, details, message } = error as { code?: number; details?: string; message: string };
    const kind = (code !== undefined && grpcFaults[code]) || 'unavailable';
    return toFault(kind, undefined, `the node ${address}: ${details || message}`);
  }
}

function toFault(kind: GatewayFault['kind'], status: number | undefined, message: string): GatewayFault {
  return { ok: false, kind, status, message };
}

function toRefusal(status: number, body: unknown): GatewayFault {
  const { message, code } = (body ?? {}) as { message?: unknown; code?: unknown };
  // Services store it; PostgreSQL takes no text with U+0000.
  const text = String(message ?? `status ${status}`).replaceAll('\0', '');
  if (status === 401 || status === 403) return toFault('access', status, accessMessage);
  // Modules of the protocol report a missing record as an error without a gRPC code: 2, HTTP 500.
  if (status === 404 || (code === 2 && /not found\b/.test(text))) return toFault('missing', status, text);
  if (status === 400) return toFault('invalid', status, text);
  return toFault(status === 501 ? 'unsupported' : 'unavailable', status, text);
}

const path = '/cosmos.tx.v1beta1.Service/BroadcastTx';
export const nodeAddressPattern = /^(tls:\/\/)?([^\s/,:]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/;

async function broadcastToNode(address: string, { bytes, timeoutMs }: { bytes: string; timeoutMs: number }) {
  // Most processes send no transactions and need not load it.
  const { Client, credentials } = await import('@grpc/grpc-js');
  const isTls = address.startsWith('tls://');
  const target = isTls ? address.slice('tls://'.length) : address;
  const client = new Client(target, isTls ? credentials.createSsl() : credentials.createInsecure());
  const request = { txBytes: Buffer.from(bytes, 'base64'), mode: BroadcastMode.BROADCAST_MODE_SYNC };
  try {
    const { txResponse } = await new Promise<BroadcastTxResponse>((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        (message: BroadcastTxRequest) => Buffer.from(BroadcastTxRequest.encode(message).finish()),
        (reply) => BroadcastTxResponse.decode(reply),
        request,
        { deadline: Date.now() + timeoutMs },
        (error, reply) => (reply ? resolve(reply) : reject(error)),
      );
    });
    if (!txResponse) throw new Error('the node answered without a response to the transaction');
    const { height, txhash, code, codespace, rawLog } = txResponse;
    return { height: String(height), txhash, code, codespace, raw_log: rawLog };
  } finally {
    client.close();
  }
}
