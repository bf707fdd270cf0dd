import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Text that is made no faster than it is taken. */
export function toJsonStream(pieces: AsyncIterable<string>): Readable {
  return Readable.from(pieces, { highWaterMark: 1 });
}

/** Sends JSON no faster than the client takes it. */
export function sendJsonStream(reply: FastifyReply, body: Readable): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(body);
}
