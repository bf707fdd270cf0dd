import { Readable } from 'node:stream';
import { AppError } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { createByteCounter } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClientKey } from '../auth/client-key.ts';
import { sizeOf } from '../define/tool-arguments.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Ends the count of its body. */
    freeBody: (() => void) | null;
  }
}

/** Of bodies whose requests are not answered, and of replies that are not taken. */
const maxBytes = 96 * 1024 * 1024;
/** Smaller replies fit into the buffers of their connections. */
const smallReply = 16 * 1024;

/**
 * Bounds what requests and replies hold in memory. The fuller it is, the less each client address may have, so that there is
 * room for whoever has nothing.
 */
export function limitHeldBytes(server: Server, { clientKey }: { clientKey: ClientKey }): void {
  const open = createByteCounter(
    ({ own, others }) => own <= (maxBytes - others) / 4,
    () => new AppError('UNAVAILABLE', 'Too many large requests and replies are under way. Try again in a moment.'),
  );

  /** Until the returned function is called, or the reply is done with. */
  function take(request: FastifyRequest, { raw }: FastifyReply, bytes: number): () => void {
    const share = open(clientKey(request) ?? request.headers.authorization ?? '');
    share.take(bytes);
    if (raw.closed) share.free();
    raw.once('close', share.free);
    return share.free;
  }

  server.decorateRequest('freeBody', null);
  server.addHook('preValidation', async (request, reply) => {
    const { body } = request;
    if (body === undefined || body === null || body instanceof Readable) return;
    request.freeBody = take(request, reply, sizeOf(body));
  });
  server.addHook('onSend', async (request, reply, payload) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    if (bytes > smallReply) take(request, reply, bytes);
  });
}

/** The body is not needed any more, while its reply may take long. */
export function dropBody(request: FastifyRequest): void {
  request.freeBody?.();
  request.body = undefined;
}
