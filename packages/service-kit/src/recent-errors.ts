import type { FastifyInstance } from 'fastify';
import { toAppError } from './error-reply.ts';
import { maskNumbers, maskText } from './mask.ts';
import { pathOf } from './request-log.ts';

export interface RecentError {
  time: string;
  requestId: string;
  method: string;
  path: string;
  status: number;
  code?: string;
  /** The message that the caller received. */
  message?: string;
}

const kept = 50;

/**
 * The last refusals and the last faults of this process, for operators: the request id leads to the log. Faults have a list of
 * their own, so that a flood of bad requests does not wash them away.
 */
export function addRecentErrors(server: FastifyInstance, toKnown: (error: unknown) => unknown): () => RecentError[] {
  const refusals: RecentError[] = [];
  const faults: RecentError[] = [];
  const replies = new WeakMap<object, { code: string; message: string }>();
  server.addHook('onError', (request, _reply, error, done) => {
    const { code, message } = toAppError(toKnown(error));
    replies.set(request, { code, message: maskNumbers(maskText(message)).slice(0, 300) });
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    const { statusCode: status } = reply;
    if (status >= 400) {
      const list = status >= 500 ? faults : refusals;
      list.push({
        time: new Date().toISOString(),
        requestId: request.id,
        method: request.method,
        path: maskNumbers(maskText(pathOf(request.url))).slice(0, 200),
        status,
        ...replies.get(request),
      });
      if (list.length > kept) list.shift();
    }
    done();
  });
  return () => [...refusals, ...faults].sort((a, b) => b.time.localeCompare(a.time));
}
