import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from './server.ts';

/** How long an upload may take in all, unless any request may take longer. */
export const longestUploadMs = 10 * 60_000;

export interface RequestTimes {
  /** For a request to arrive; for the next bytes of an upload. */
  requestTimeoutMs: number;
  isUpload(request: { method: string; url: string }): boolean;
}

/**
 * Node has one limit for all requests of a server, which has to be that of uploads. Here every other request has its own, and
 * an upload ends when nothing of it arrives for that long.
 */
export function limitRequestTime(server: Server, { requestTimeoutMs, isUpload }: RequestTimes): void {
  const watched = new WeakSet<IncomingMessage>();

  function watch(request: IncomingMessage, response: ServerResponse): void {
    const { headers, socket, method = '', url = '' } = request;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    if (watched.has(request)) return;
    watched.add(request);
    let read = socket.bytesRead;
    const timer = setInterval(() => {
      const isProgressing = isUpload({ method, url }) && !response.writableEnded && socket.bytesRead > read;
      read = socket.bytesRead;
      if (isProgressing) return;
      clearInterval(timer);
      if (request.complete) return;
      const late = Object.assign(new Error('The request did not arrive in time.'), {
        code: 'ERR_HTTP_REQUEST_TIMEOUT',
      });
      // What Node does after its own limit.
      if (response.headersSent) socket.destroy();
      else server.server.emit('clientError', late, socket);
    }, requestTimeoutMs).unref();
    request.once('close', () => clearInterval(timer)).once('end', () => clearInterval(timer));
  }

  // No hook runs for requests that Socket.IO takes, nor for a malformed URL. Socket.IO also replaces the listeners it finds,
  // so this one is added after it.
  server.addHook('onReady', (done) => {
    server.server.prependListener('request', watch);
    done();
  });
  // With `HOST=localhost` Fastify has a second server, for the other address; its requests come only here.
  server.addHook('onRequest', ({ raw }, reply, done) => {
    watch(raw, reply.raw);
    done();
  });
}
