import type { FastifyRequest } from 'fastify';
import type { Server } from './create-server.ts';

/** How long an upload may take in all. */
export const longestUploadMs = 10 * 60_000;

export interface RequestTimes {
  /** For a request to arrive; for the next bytes of an upload. */
  requestTimeoutMs: number;
  isUpload(request: FastifyRequest): boolean;
}

/**
 * Node has one limit for all requests of a server, which has to be that of uploads. Here every other request has its own, and
 * an upload ends when nothing of it arrives for that long.
 */
export function limitRequestTime(server: Server, { requestTimeoutMs, isUpload }: RequestTimes): void {
  server.addHook('onRequest', (request, reply, done) => {
    done();
    const { raw } = request;
    const { headers, socket } = raw;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    let read = socket.bytesRead;
    const timer = setInterval(() => {
      const isProgressing = isUpload(request) && !reply.raw.writableEnded && socket.bytesRead > read;
      read = socket.bytesRead;
      if (isProgressing) return;
      clearInterval(timer);
      if (raw.complete) return;
      const late = Object.assign(new Error('The request did not arrive in time.'), {
        code: 'ERR_HTTP_REQUEST_TIMEOUT',
      });
      // What Node does after its own limit.
      if (reply.raw.headersSent) socket.destroy();
      else server.server.emit('clientError', late, socket);
    }, requestTimeoutMs).unref();
    raw.once('close', () => clearInterval(timer)).once('end', () => clearInterval(timer));
  });
}
