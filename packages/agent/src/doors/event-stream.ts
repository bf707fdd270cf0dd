import { once } from 'node:events';
import { agentLimits } from '@palaver/contract';
import { openEventStream } from '@palaver/service-kit/internal';
import type { FastifyReply } from 'fastify';

/** Sends events as they come; resolves when the connection is done with. The reader's pace is the pace of `events`. */
export async function sendEventStream(
  reply: FastifyReply,
  events: AsyncIterable<string>,
  headers: Record<string, string> = {},
): Promise<FastifyReply> {
  const stream = openEventStream(reply, { headers, heartbeatMs: agentLimits.heartbeatMs });
  if (!stream) return reply;
  stream.flushHeaders();
  const closed = new AbortController();
  stream.once('close', () => closed.abort());
  try {
    for await (const event of events) {
      if (stream.destroyed) break;
      if (!stream.write(event)) await once(stream, 'drain', closed);
    }
    stream.end();
  } catch (error) {
    // The protocol's own error event has been sent where there is one; what is left is to end the connection.
    reply.request.log.debug({ err: error }, 'an event stream was cut off');
    stream.destroy();
  }
  return reply;
}
