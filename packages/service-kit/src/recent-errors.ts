import { lookUpPrefix } from '@palaver/contract/internal';
import type { FastifyInstance } from 'fastify';
import { toAppError } from './error-reply.ts';
import { maskNumbers, maskText } from './mask.ts';
import { pathOf } from './request-log.ts';

export interface RecentError {
  time: string;
  ms: number;
  requestId: string;
  method: string;
  path: string;
  status: number;
  code?: string;
  /** The message that the caller received. */
  message?: string;
}

/** A request that was refused or failed. */
export interface FailedRequest {
  requestId: string;
  method: string;
  url: string;
  status: number;
  elapsedMs: number;
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
  const note = (
    { requestId, method, url, status, elapsedMs }: FailedRequest,
    told?: { code: string; message: string },
  ) => {
    // What the console looks up for its reader may be missing: that is an answer.
    if (status < 500 && requestId.startsWith(lookUpPrefix)) return;
    const list = status >= 500 ? faults : refusals;
    const path = maskNumbers(maskText(pathOf(url))).slice(0, 200);
    list.push({ time: new Date().toISOString(), ms: Math.ceil(elapsedMs), requestId, method, path, status, ...told });
    if (list.length > kept) list.shift();
  };
  server.decorate('noteFailure', note);
  server.addHook('onResponse', (request, { statusCode: status, elapsedTime: elapsedMs }, done) => {
    const { id: requestId, method, url } = request;
    if (status >= 400) note({ requestId, method, url, status, elapsedMs }, replies.get(request));
    done();
  });
  return () => [...refusals, ...faults].sort((a, b) => b.time.localeCompare(a.time));
}
