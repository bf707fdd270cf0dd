import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Method } from './method.ts';
import { type CallLimits, serveCall } from './serve-call.ts';

export interface GrpcServer {
  listen(where: { host: string; port: number }): Promise<number>;
  /** Takes no new calls, lets those in flight finish within `graceMs`, then cuts the rest. */
  close(graceMs: number): Promise<void>;
}

export interface GrpcServerOptions {
  /** By path: `/package.Service/Method`. */
  methods: ReadonlyMap<string, Method>;
  limits: CallLimits;
  /** Receives what a method threw; the client gets only an internal error. */
  onError(error: unknown, path: string): void;
}

const maxConcurrentStreams = 1_000;
const maxHeaderListSize = 16 * 1024;
const keepAliveMs = 60_000;

/** A gRPC server over HTTP/2 without TLS. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const stops = new Set<() => void>();
  const server = createServer({ settings: { maxConcurrentStreams, maxHeaderListSize } });
  const sessions = new Set<ServerHttp2Session>();
  server.on('stream', (stream, headers) => serveCall(stream, headers, { ...options, stops }));
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => {}); // a broken connection concerns its client alone; 'close' follows
  });
  // The operating system notices a peer that vanished.
  server.on('connection', (socket) => socket.setKeepAlive(true, keepAliveMs));

  return {
    async listen({ host, port }) {
      server.listen(port, host);
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    },
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      for (const stop of stops) stop();
      const cut = setTimeout(() => {
        for (const session of sessions) session.destroy();
      }, graceMs);
      await closed;
      clearTimeout(cut);
    },
  };
}
