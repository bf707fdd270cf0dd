import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { shutdownTimeoutMs } from '@palaver/contract';
import type { Server, ServerOptions } from './create-server.ts';
import { readProbes } from './health-probes.ts';

declare module 'fastify' {
  interface FastifyInstance {
    lifecycle: Lifecycle;
  }
}

export interface Lifecycle {
  /** Makes `/ready` and `/health` answer 503 and keeps serving for `delayMs`, so that balancers choose others first. */
  drain(delayMs: number): Promise<void>;
  /** Stops accepting, finishes what is in flight within 10 s, then cuts the rest. */
  close(): Promise<void>;
}

const sweepMs = 50;

/** Adds `/health` and `/ready`, and `server.lifecycle`, which takes the server out of service. */
export function addLifecycle(server: Server, { health, probes = [] }: Pick<ServerOptions, 'health' | 'probes'>): void {
  const closeSilent = trackSilent(server);
  let draining = false;

  // Before the first listener, Fastify's own: streams that write to the socket themselves carry the header too.
  server.server.prependListener('request', (_request, response) => {
    if (draining) response.setHeader('connection', 'close');
  });
  const readHealth = async () => {
    const [{ healthy, body }, probed] = await Promise.all([health(), readProbes(probes)]);
    if (!healthy || probed.healthy) return { healthy, body: { ...body, ...probed.fields } };
    return { healthy: false, body: { ...body, status: 'degraded', ...probed.fields } };
  };
  const schema = (summary: string) => ({ tags: ['Service'], summary });
  server.get('/health', { schema: schema('Health of the service') }, async (_request, reply) => {
    const { healthy, body } = await readHealth();
    return reply.status(healthy && !draining ? 200 : 503).send(draining ? { ...body, draining } : body);
  });
  server.get('/ready', { schema: schema('Whether to send requests here') }, async (_request, reply) => {
    const ready = !draining && (await readHealth()).healthy;
    const status = draining ? 'draining' : ready ? 'ready' : 'unavailable';
    return reply.status(ready ? 200 : 503).send({ status });
  });

  server.decorate('lifecycle', {
    async drain(delayMs) {
      draining = true;
      if (delayMs > 0) await sleep(delayMs);
    },
    async close() {
      draining = true;
      const sweep = setInterval(() => {
        server.server.closeIdleConnections();
        closeSilent();
      }, sweepMs);
      const cut = setTimeout(() => server.server.closeAllConnections(), shutdownTimeoutMs - 500);
      await server.close().finally(() => {
        clearInterval(sweep);
        clearTimeout(cut);
      });
    },
  });
}

/** Closes connections that never sent a byte, which Node counts as idle only after their first request. */
function trackSilent({ server }: Server): () => void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return () => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
}
