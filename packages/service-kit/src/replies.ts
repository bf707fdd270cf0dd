import type { ServerResponse } from 'node:http';
import { AppError } from '@palaver/contract';
import { eventStreamHeaders } from '@palaver/contract/internal';
import type { FastifyReply } from 'fastify';
import { countAsStream } from './metrics.ts';

export interface EventStreamOptions {
  headers?: Record<string, string>;
  heartbeatMs: number;
}

/** One Server-Sent Event. */
export function toEvent(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** Begins a reply of Server-Sent Events, past the framework, whose writes are whole events. Undefined for a reader that has left, or asked for the headers only. */
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
  countAsStream(reply);
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  if (reply.request.method === 'HEAD') {
    raw.end();
    return undefined;
  }
  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(': heartbeat\n\n');
  }, heartbeatMs);
  return raw.once('close', () => clearInterval(heartbeat));
}

/** Fires when the client has left before the reply was complete. */
export function signalOf({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const leave = () => {
    if (!raw.writableFinished) controller.abort(new AppError('REQUEST_TIMEOUT', 'The client has disconnected.'));
  };
  raw.once('close', leave);
  if (raw.destroyed || raw.socket?.destroyed) leave();
  return controller.signal;
}

/** Whether `If-None-Match` names this ETag, in any of the forms of RFC 9110. */
export function isUnchanged(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  return given.split(',').some((tag) => {
    const bare = tag.trim();
    // A compressed form has the tag of the plain one with its encoding behind.
    return bare === '*' || bare.replace(/^W\//, '').replace(/-(?:br|gzip)"$/, '"') === etag;
  });
}
