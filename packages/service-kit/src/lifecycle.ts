import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { shutdownTimeoutMs } from '@palaver/contract/internal';
import { type HealthProbe, readProbes } from './health-probes.ts';
import type { Server } from './server.ts';

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

/** What `GET /health` reads. */
export interface HealthSources {
  /** The reply of `GET /health`; `healthy: false` makes it a 503. */
  health(): Promise<{ healthy: boolean; body: Record<string, unknown> }>;
  /** More fields of `GET /health`, and their gauges. */
  probes?: readonly HealthProbe[];
}

const sweepMs = 50;
/** How long a closing server waits for the rest of a request that has stopped arriving. */
const stalledMs = 1_000;
const leastPruned = 100;

/** Adds `/health` and `/ready`, and `server.lifecycle`, which takes the server out of service. */
export function addLifecycle(server: Server, { health, probes = [] }: HealthSources): void {
  const closeStalled = trackStalled(server);
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
        closeStalled();
      }, sweepMs);
      const cut = setTimeout(() => server.server.closeAllConnections(), shutdownTimeoutMs - 500);
      await server.close().finally(() => {
        clearInterval(sweep);
        clearTimeout(cut);
      });
    },
  });
}

/**
 * Closes connections whose request does not arrive: at once where not a byte was sent, otherwise when nothing has come for a
 * while. Node counts neither as idle.
 */
function trackStalled({ server }: Server): () => void {
  const connections = new Map<Socket, Connection>();
  let mostConnections = leastPruned;
  server.on('connection', (socket: Socket) => {
    // Closed ones are removed now and then, not by a listener: a second one for `close` beside Node's own keeps what the requests
    // of the connection leave behind from being collected early, which cost a third of the CPU of a busy server.
    if (connections.size >= mostConnections) {
      for (const known of connections.keys()) if (known.destroyed) connections.delete(known);
      mostConnections = 2 * connections.size + leastPruned;
    }
    connections.set(socket, { bytesRead: 0, readAt: 0 });
  });
  return () => {
    const now = performance.now();
    for (const [socket, connection] of connections) {
      const { bytesRead } = socket;
      if (bytesRead !== connection.bytesRead) Object.assign(connection, { bytesRead, readAt: now });
      if (bytesRead === 0 || (isIncomplete(socket) && now - connection.readAt > stalledMs)) socket.destroy();
    }
  };
}

interface Connection {
  bytesRead: number;
  readAt: number;
}

/** Node's parser leaves a connection that has become a WebSocket; `_httpMessage` is the reply under way. */
const isIncomplete = (socket: Socket & { parser?: unknown; _httpMessage?: ServerResponse | null }) =>
  Boolean(socket.parser) && !socket._httpMessage?.req.complete;
