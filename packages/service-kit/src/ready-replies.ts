import type { IncomingMessage, ServerResponse } from 'node:http';
import { browserHeaders } from './browser-headers.ts';
import { type CorsOptions, createCorsHeaders } from './cors.ts';
import { createHostCheck } from './local-trust.ts';
import type { Logger } from './logger.ts';
import { requestDurations } from './metrics.ts';
import { toRequestId } from './request-id.ts';
import { callerOf, createRequestLog } from './request-log.ts';
import type { Server } from './server.ts';

/** A reply that is ready to be sent. */
export interface ReadyReply {
  /** The route that would have answered. */
  route: string;
  status: number;
  /** Names and values alternating, including `Cache-Control`. */
  headers: string[];
  /** None for a reply without a body. */
  body: Buffer | undefined;
}

/** The reply to a request; undefined leaves the request to the routes. */
export type FindReady = (request: IncomingMessage) => ReadyReply | undefined;

export interface ReadyRepliesOptions {
  find: FindReady;
  logger: Logger;
  allowedHosts: string[] | undefined;
  cors: CorsOptions | undefined;
}

/**
 * Sends replies that are ready without the framework, whose requests, replies and hooks cost more than the rest. They have the
 * same id, CORS and other headers, metrics and log line; access rules and limits of a route are left to `find`. There are no spans.
 */
export function addReadyReplies(server: Server, { find, logger, allowedHosts, cors }: ReadyRepliesOptions): void {
  const { 'cache-control': _cacheControl, ...fixed } = browserHeaders;
  const fixedHeaders = Object.entries(fixed).flat();
  const corsHeaders = cors ? createCorsHeaders(cors) : () => [];
  const logRequest = createRequestLog(logger);
  const durations = requestDurations(server.metrics);

  const isServed = allowedHosts ? createHostCheck(allowedHosts) : () => true;

  const answer = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { url = '', method = '', headers } = request;
    if (headers.upgrade !== undefined || !isServed(headers.host)) return false;
    const found = find(request);
    if (!found) return false;
    const { route, status, body } = found;
    const id = toRequestId(request);
    const started = performance.now();
    response.writeHead(status, [...fixedHeaders, 'x-request-id', id, ...corsHeaders(headers.origin), ...found.headers]);
    response.end(body);
    const elapsedMs = performance.now() - started;
    durations.count(elapsedMs / 1000, method, route, String(status));
    logRequest({ id, method, url, status, elapsedMs, caller: callerOf(request) });
    return true;
  };
  /** An exception here would end the process; the routes have the same fault and report it. */
  const tryAnswer = (request: IncomingMessage, response: ServerResponse): boolean => {
    try {
      return answer(request, response);
    } catch {
      return response.headersSent;
    }
  };

  // The framework's own listener is the last one: others are put before it.
  const [handle] = server.server.listeners('request').slice(-1) as [(...args: unknown[]) => void];
  server.server.removeListener('request', handle);
  server.server.on('request', (request, response) => {
    if (!tryAnswer(request, response)) handle(request, response);
  });
}
