// The POST routes of the transaction service: simulate, broadcast, encode and decode. Never kept, never repeated.
import { AppError } from '@palaver/contract';
import { setSpanRoute } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AskNode, Query } from '../ask-node.ts';
import { type Authorize, requireAuthorized } from '../auth.ts';
import { decodeBody, listAnyTypes } from '../decode-body.ts';
import type { LiveTable } from '../live-table.ts';
import { type MetadataOptions, readMetadata } from '../metadata.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { type QueryHandler, setHeaders } from './query.ts';

export interface TxParts {
  live: LiveTable;
  authorize: Authorize;
  ask: AskNode;
  metrics: GatewayMetrics;
  options: MetadataOptions;
  otherwise: QueryHandler;
}

/** How many types of one body are asked for. */
const maxTypes = 100;

export function createTxHandler({ live, authorize, ask, metrics, options, otherwise }: TxParts) {
  return async function handleTx(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = request.url.split('?', 1)[0] ?? '';
    const snapshot = live.current();
    const route = snapshot?.table.writes.get(path);
    if (!snapshot || !route) return otherwise(request, reply);
    setSpanRoute(request.method, route.template);
    requireAuthorized(await authorize(request, path), reply);
    const metadata = readMetadata(request.headers, options);
    if (!metadata.ok) throw new AppError('BAD_REQUEST', metadata.message);
    await snapshot.learner?.learn(listAnyTypes(request.body).slice(0, maxTypes));
    const decoded = decodeBody(route.method.input, request.body ?? {}, snapshot.schema.registry);
    if (!decoded.ok) throw new AppError('BAD_REQUEST', decoded.message);

    // The call runs to its end when the client leaves: a transaction that was sent cannot be taken back.
    const query: Query = { route, bytes: decoded.bytes, metadata, minHeight: 0, proto3: false, snapshot, once: true };
    const answer = await ask(query).value;
    metrics.countRequest(route.template, 'miss', answer.grpcCode);
    return setHeaders(reply, answer.headers).header('cache-control', 'no-store').code(answer.status).send(answer.body);
  };
}
