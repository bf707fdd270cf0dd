import { once } from 'node:events';
import { agentLimits } from '@palaver/contract';
import { eventStreamHeaders } from '@palaver/contract/internal';
import type { FastifyReply } from 'fastify';

/** One event of a stream. */
export function toEvent(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** The headers that hooks have set, such as those of CORS, for a reply that is written past the framework. */
export function copyHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
}

/** Sends events as they come; resolves when the connection is done with. The reader's pace is the pace of `events`. */
export async function sendEventStream(
  reply: FastifyReply,
  events: AsyncIterable<string>,
  headers: Record<string, string> = {},
): Promise<FastifyReply> {
  reply.hijack();
  const { raw } = reply;
  if (raw.destroyed || raw.socket?.destroyed) return reply;
  copyHeaders(reply);
  raw.writeHead(200, { ...eventStreamHeaders, ...headers });
  raw.flushHeaders();
  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(': heartbeat\n\n');
  }, agentLimits.heartbeatMs);
  const closed = new AbortController();
  raw.once('close', () => closed.abort());
  try {
    for await (const event of events) {
      if (raw.destroyed) break;
      if (!raw.write(event)) await once(raw, 'drain', closed);
    }
    raw.end();
  } catch (error) {
    // The protocol's own error event has been sent where there is one; what is left is to end the connection.
    reply.request.log.debug({ err: error }, 'an event stream was cut off');
    raw.destroy();
  } finally {
    clearInterval(heartbeat);
  }
  return reply;
}
