import type { ServerResponse } from 'node:http';
import { eventStreamHeaders } from '@palaver/contract/internal';
import type { FastifyReply } from 'fastify';

export interface EventStreamOptions {
  headers?: Record<string, string>;
  heartbeatMs: number;
}

/** One Server-Sent Event. */
export function toEvent(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** Begins a reply of Server-Sent Events, past the framework, whose writes are whole events. Undefined for a reader that has left. */
export function openEventStream(
  reply: FastifyReply,
  { headers, heartbeatMs }: EventStreamOptions,
): ServerResponse | undefined {
  reply.hijack();
  const { raw } = reply;
  // `close` has been emitted and will not be again.
  if (raw.destroyed || raw.closed || raw.socket?.destroyed) return undefined;
  // Hooks have set headers, such as those of CORS.
  reply.headers({ ...eventStreamHeaders, ...headers });
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(': heartbeat\n\n');
  }, heartbeatMs);
  return raw.once('close', () => clearInterval(heartbeat));
}
