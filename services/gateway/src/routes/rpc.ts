// The node's CometBFT RPC, opt-in: JSON-RPC by POST and by WebSocket, and its events as Server-Sent Events.
import type { ServerResponse } from 'node:http';
import { AppError, type ErrorCode } from '@palaver/contract';
import { parseJson } from '@palaver/contract/internal';
import { clientAddress } from '@palaver/service-kit';
import {
  isJsonTooDeep,
  openEventStream,
  type RateLimit,
  signalOf,
  toAddressKey,
  toEvent,
  toRateError,
} from '@palaver/service-kit/internal';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { type Authorize, requireAuthorized } from '../auth.ts';
import {
  type AnswerParts,
  answerRpc,
  isWrite,
  notAllowed,
  parseError,
  toRpcRequest,
  toRpcText,
} from '../rpc/rpc-client.ts';
import type { SubscriptionRefusal, Subscriptions } from '../rpc/subscriptions.ts';

export interface RpcParts extends AnswerParts {
  subscriptions: Subscriptions;
  authorize: Authorize;
  limit: RateLimit | undefined;
}

/** Counts a call and checks its credentials, as for a request of its own; undefined if it is admitted. */
type AdmitCall = () => Promise<AppError | undefined>;

const bodyLimit = 1024 * 1024;
const maxBatch = 20;
const maxSubscriptions = 10;
const maxInFlight = 32;
/** A client that reads slower than events come is disconnected. */
const maxBuffered = 4 * 1024 * 1024;
const heartbeatMs = 15_000;
const newBlocks = "tm.event='NewBlock'";

export function addRpcRoutes(scope: FastifyInstance, parts: RpcParts): void {
  const { authorize, allowed } = parts;
  const guard = async (request: FastifyRequest, reply: FastifyReply) =>
    requireAuthorized(await authorize(request, request.url.split('?', 1)[0] ?? ''), reply);

  scope.post('/rpc', { bodyLimit, preHandler: guard }, async (request, reply) => {
    const signal = signalOf(reply);
    const batch = Array.isArray(request.body) ? request.body : [request.body];
    if (batch.length > maxBatch) throw new AppError('BAD_REQUEST', `A batch has at most ${maxBatch} requests.`);
    const admit = createAdmitCall(request, parts);
    for (const _other of batch.slice(1)) {
      const refusal = await admit();
      if (refusal) throw refusal;
    }
    const answers = await Promise.all(batch.map((json) => answerRpc(json, parts, signal)));
    const texts = answers.map(({ text }) => text);
    if (answers.some(({ isOutage }) => isOutage)) reply.code(503).header('retry-after', '1');
    return reply
      .headers({ 'content-type': 'application/json', 'cache-control': 'no-store' })
      .send(Array.isArray(request.body) ? `[${texts.join()}]` : texts[0]);
  });

  scope.get('/rpc/:method', { preHandler: guard }, (request, reply) => answerUri(request, reply, parts));
  scope.get('/rpc/websocket', { websocket: true, preValidation: guard }, (socket, request) =>
    serveSocket(socket, { ...parts, address: clientOf(request), admit: createAdmitCall(request, parts) }),
  );
  if (allowed.has('subscribe')) scope.get('/events', { preHandler: guard }, serveEvents(parts));
}

/** The node's URI style (`GET /rpc/block?height=5`), with its id and its status for errors. Any page can send a GET, so it never writes. */
async function answerUri(request: FastifyRequest, reply: FastifyReply, { client, allowed }: RpcParts) {
  const { method } = request.params as { method: string };
  if (!allowed.has(method) || isWrite(method) || method.endsWith('subscribe') || method === 'unsubscribe_all')
    throw new AppError('NOT_FOUND', `This gateway does not pass on ${method.slice(0, 100)} by GET.`);
  const mark = request.url.indexOf('?');
  const query = mark === -1 ? '' : request.url.slice(mark + 1);
  // The node decides which of a repeated parameter counts, so its values are a list here.
  const values = new URLSearchParams(query);
  const params = Object.fromEntries(
    [...values].map(([name, value]) => {
      const all = values.getAll(name);
      return [name, all.length > 1 ? all : value];
    }),
  );
  const answer = await client.call({ method, params, query }, signalOf(reply));
  const isOutage = !answer.ok && answer.isOutage === true;
  if (isOutage) reply.header('retry-after', '1');
  return reply
    .code(answer.ok ? 200 : isOutage ? 503 : 500)
    .headers({ 'content-type': 'application/json', 'cache-control': 'no-store' })
    .send(toRpcText(-1, answer));
}

const clientOf = (request: FastifyRequest) => toAddressKey(clientAddress(request));

function createAdmitCall(request: FastifyRequest, { limit, authorize }: RpcParts): AdmitCall {
  const path = request.url.split('?', 1)[0] ?? '';
  return async () => {
    const standing = await limit?.(clientOf(request));
    if (standing?.isOver) return toRateError(standing);
    const authorized = await authorize(request, path);
    return authorized.ok ? undefined : authorized.error;
  };
}

function serveSocket(socket: WebSocket, parts: RpcParts & { address: string; admit: AdmitCall }): void {
  const { allowed, subscriptions, address, admit } = parts;
  const left = new AbortController();
  const leaves = new Map<string, () => void>();
  let inFlight = 0;
  const heartbeat = setInterval(() => socket.ping(), heartbeatMs).unref();
  const send = (text: string) => {
    if (socket.bufferedAmount > maxBuffered) socket.terminate();
    else socket.send(text);
  };

  const subscribe = async (id: unknown, query: unknown) => {
    const refuse = (data: string) =>
      send(toRpcText(id, { ok: false, error: { code: -32603, message: 'Internal error', data } }));
    if (typeof query !== 'string') return refuse('a query is needed');
    if (leaves.has(query)) return refuse('already subscribed');
    if (leaves.size >= maxSubscriptions) return refuse(`at most ${maxSubscriptions} subscriptions on one connection`);
    // It may be given up before the node confirms it.
    let isLeft = false;
    leaves.set(query, () => (isLeft = true));
    let isConfirmed = false;
    const subscribed = await subscriptions.subscribe(address, query, {
      onEvent: (result) => {
        if (isConfirmed) send(toRpcText(id, { ok: true, result }));
      },
      // As when the node itself goes away: clients connect again and know that events may be missing.
      onLost: () => socket.close(1012, 'the node ended the subscription'),
    });
    if (!subscribed.ok && !isLeft) leaves.delete(query);
    if (!subscribed.ok) return refuse(subscribed.message);
    if (isLeft) return subscribed.leave();
    leaves.set(query, subscribed.leave);
    send(toRpcText(id, { ok: true, result: '{}' }));
    isConfirmed = true;
  };

  const unsubscribe = (id: unknown, queries: string[]) => {
    for (const query of queries) {
      leaves.get(query)?.();
      leaves.delete(query);
    }
    send(toRpcText(id, { ok: true, result: '{}' }));
  };

  const answer = async (text: string) => {
    const json = isJsonTooDeep(text) ? undefined : parseJson(text);
    const request = toRpcRequest(json);
    const { query } = (request?.params ?? {}) as { query?: unknown };
    if (json === undefined) return send(toRpcText(null, { ok: false, error: parseError }));
    if (request && !allowed.has(request.method))
      return send(toRpcText(request.id, { ok: false, error: notAllowed(request.method) }));
    if (request?.method === 'subscribe') return subscribe(request.id, query);
    if (request?.method === 'unsubscribe') return unsubscribe(request.id, typeof query === 'string' ? [query] : []);
    if (request?.method === 'unsubscribe_all') return unsubscribe(request.id, [...leaves.keys()]);
    return send((await answerRpc(json, parts, left.signal)).text);
  };

  const end = ({ code }: AppError) =>
    code === 'RATE_LIMITED' ? socket.close(1013, 'too many requests') : socket.close(1008, 'not allowed any more');

  socket.on('message', (data) => {
    if (inFlight >= maxInFlight) return socket.close(1013, 'too many requests');
    inFlight += 1;
    admit()
      .then((refusal) => (refusal ? end(refusal) : answer(String(data))))
      .catch(() => socket.close(1011, 'internal error'))
      .finally(() => (inFlight -= 1));
  });
  socket.on('error', () => socket.terminate());
  socket.on('close', () => {
    left.abort();
    clearInterval(heartbeat);
    for (const leave of leaves.values()) leave();
  });
}

const refusalCodes = {
  client: 'LIMIT_REACHED',
  full: 'UNAVAILABLE',
  node: 'BAD_REQUEST',
  outage: 'UNAVAILABLE',
} as const satisfies Record<SubscriptionRefusal, ErrorCode>;

function serveEvents({ subscriptions }: RpcParts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { query = newBlocks } = request.query as { query?: unknown };
    if (typeof query !== 'string') throw new AppError('BAD_REQUEST', 'Give one query.');
    if (request.method === 'HEAD') {
      openEventStream(reply, { heartbeatMs });
      return reply;
    }
    let stream: ServerResponse | undefined;
    let isLost = false;
    const subscribed = await subscriptions.subscribe(clientOf(request), query, {
      onEvent(result) {
        // `tendermint/event/NewBlock` is `NewBlock`.
        const [, name = 'message'] = /"type":"tendermint\/event\/(\w+)"/.exec(result) ?? [];
        if (stream && stream.writableLength > maxBuffered) stream.destroy();
        else stream?.write(toEvent(result, name));
      },
      onLost() {
        isLost = true;
        stream?.end();
      },
    });
    if (!subscribed.ok && refusalCodes[subscribed.reason] === 'UNAVAILABLE') reply.header('retry-after', '1');
    if (!subscribed.ok) throw new AppError(refusalCodes[subscribed.reason], `Not subscribed: ${subscribed.message}.`);
    stream = openEventStream(reply, { heartbeatMs })?.once('close', subscribed.leave);
    if (!stream) subscribed.leave();
    stream?.write(': subscribed\n\n');
    if (isLost) stream?.end();
    return reply;
  };
}
