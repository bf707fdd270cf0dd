import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** How long a reader may take nothing before it is cut off. */
const stalledMs = 60_000;

/** Text that is made no faster than it is taken. */
export function toJsonStream(pieces: AsyncIterable<string>): Readable {
  return Readable.from(pieces, { highWaterMark: 1 });
}

/** Sends JSON no faster than the client takes it; one that takes nothing for a minute is cut off. */
export function sendJsonStream(reply: FastifyReply, body: Readable): FastifyReply {
  reply.raw.setTimeout(stalledMs, () => reply.raw.destroy());
  return reply.type('application/json; charset=utf-8').send(body);
}
