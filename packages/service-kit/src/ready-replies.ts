import type { IncomingMessage, ServerResponse } from 'node:http';
import { maxUrlLength } from './create-server.ts';
import type { Logger } from './logger.ts';
import { requestDurations } from './metrics.ts';
import { type CorsOptions, countHosts, createCorsHeaders, createHostCheck } from './origins.ts';
import { browserHeaders } from './replies.ts';
import { callerOf, createRequestLog, readTold, toRequestId } from './request-log.ts';
import type { Server } from './server.ts';

export interface ReadyReply {
  status: number;
  /** Names in lower case and values alternating, including `Cache-Control`. */
  headers: string[];
  body: Buffer | undefined;
}

/** The reply to a request; undefined leaves the request to the routes. */
export type FindReply = (
  request: IncomingMessage,
  response: ServerResponse,
) => ReadyReply | Promise<ReadyReply> | undefined;

export interface ReadyRepliesOptions {
  find: FindReply;
  route: string;
  logger: Logger;
  allowedHosts: string[] | undefined;
  cors: CorsOptions | undefined;
}

// Sends replies without the framework, whose overhead is larger than the rest. They have the same id, CORS and other headers,
// metrics, log line and entry in the list of errors, but no spans; `find` has to apply a route's access rules and limits.
export function addReadyReplies(server: Server, options: ReadyRepliesOptions): void {
  const { find, route, logger, allowedHosts, cors } = options;
  const { 'cache-control': _cacheControl, ...fixed } = browserHeaders;
  const fixedHeaders = Object.entries(fixed).flat();
  const corsHeaders = cors ? createCorsHeaders(cors) : () => [];
  const logRequest = createRequestLog(logger);
  const durations = requestDurations(server.metrics);
  const isServed = allowedHosts ? createHostCheck(allowedHosts) : () => true;
  // The framework's own listener is the last one: others are prepended.
  const [handle] = server.server.listeners('request').slice(-1) as [(...args: unknown[]) => void];

  const send = (request: IncomingMessage, response: ServerResponse, started: number, reply: ReadyReply) => {
    if (response.destroyed) return;
    const { status, body } = reply;
    const { url = '', method = '', headers } = request;
    try {
      const id = toRequestId(request);
      const all = [...fixedHeaders, 'x-request-id', id, ...corsHeaders(headers.origin), ...reply.headers];
      if (body) all.push('content-length', String(body.length));
      response.writeHead(status, all);
      response.end(body);
      const elapsedMs = performance.now() - started;
      durations.count(elapsedMs / 1000, method, route, String(status));
      if (status >= 400) server.noteFailure({ requestId: id, method, url, status, elapsedMs }, readTold(body));
      logRequest({ id, method, url, status, elapsedMs, caller: callerOf(request) });
    } catch {
      // An exception would end the process; the routes meet the same fault and report it.
      if (!response.headersSent) handle(request, response);
    }
  };
  const tryFind = (request: IncomingMessage, response: ServerResponse) => {
    try {
      const { url = '', headers, rawHeaders } = request;
      const hasHost = countHosts(rawHeaders) <= 1 && isServed(headers.host);
      const isPlain = headers.upgrade === undefined && hasHost && url.length <= maxUrlLength;
      return isPlain ? find(request, response) : undefined;
    } catch {
      return undefined;
    }
  };
  server.server.removeListener('request', handle);
  server.server.on('request', (request, response) => {
    const started = performance.now();
    const found = tryFind(request, response);
    if (!found) handle(request, response);
    else if ('then' in found) {
      found.then(
        (reply) => send(request, response, started, reply),
        () => handle(request, response),
      );
    } else send(request, response, started, found);
  });
}
