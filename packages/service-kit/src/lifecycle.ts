import { statfs } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { shutdownTimeoutMs } from '@palaver/contract/internal';
import type { Redis } from 'ioredis';
import { Counter, type Registry } from 'prom-client';
import { addGauge } from './metrics.ts';
import { watchOf } from './redis.ts';
import type { Server } from './server.ts';

declare module 'fastify' {
  interface FastifyInstance {
    lifecycle: {
      /** Makes `/ready` and `/health` answer 503 and keeps serving for `delayMs`, so that balancers choose others first. */
      drain(delayMs: number): Promise<void>;
      close(): Promise<void>;
    };
  }
}

export interface HealthSources {
  /** The reply of `GET /health`; `healthy: false` makes it a 503. */
  health(): Promise<{ healthy: boolean; body: Record<string, unknown> }>;
  probes?: readonly HealthProbe[];
}

const sweepMs = 50;
const stalledMs = 1_000;
const leastPruned = 100;

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
  server.get('/health', async (_request, reply) => {
    const { healthy, body } = await readHealth();
    return reply.status(healthy && !draining ? 200 : 503).send(draining ? { ...body, draining } : body);
  });
  server.get('/ready', async (_request, reply) => {
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

/** Closes connections whose request does not arrive: Node counts neither silent nor stalled ones as idle. */
function trackStalled({ server }: Server): () => void {
  const connections = new Map<Socket, { bytesRead: number; readAt: number }>();
  let mostConnections = leastPruned;
  server.on('connection', (socket: Socket) => {
    // A second listener for `close` would delay the collection of used objects: a third of the CPU of a busy server.
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

/** Node's parser leaves a connection that became a WebSocket; `_httpMessage` is the running reply. */
const isIncomplete = (socket: Socket & { parser?: unknown; _httpMessage?: ServerResponse | null }) =>
  Boolean(socket.parser) && !socket._httpMessage?.req.complete;

interface HealthProbe {
  name: string;
  read(): Promise<ProbeResult>;
  addMetrics?(registry: Registry): void;
}

interface ProbeResult {
  state: string;
  /** What the service cannot do, in one sentence. */
  impaired?: string | undefined;
  /** False if the service cannot work at all: `/health` is 503 then. */
  healthy?: boolean;
}

const minFreeBytes = 16 * 1024 * 1024;
const maxSkewMs = 2_000;
const clockMs = 10_000;

interface ProbedParts {
  redis?: Redis | undefined;
  withoutRedis: string;
  folder?: string | undefined;
  readTime?: (() => Promise<number>) | undefined;
  isLocked?: (() => Promise<boolean>) | undefined;
}

export function createProbes({ redis, withoutRedis, folder, readTime, isLocked }: ProbedParts): HealthProbe[] {
  return [
    ...(redis ? [probeRedis(redis, withoutRedis)] : []),
    ...(folder ? [probeDisk(folder)] : []),
    ...(readTime ? [probeClock(readTime)] : []),
    ...(isLocked ? [probeLock(isLocked)] : []),
  ];
}

function probeRedis(redis: Redis, impaired: string): HealthProbe {
  const read = () => watchOf(redis) ?? { state: redis.status === 'ready' ? 'connected' : 'disconnected' };
  return {
    name: 'redis',
    async read() {
      const { state } = read();
      return { state, impaired: state === 'connected' ? undefined : impaired };
    },
    addMetrics(registry) {
      addGauge(registry, 'redis_up', 'Whether Redis answers', () => Number(read().state === 'connected'));
      addGauge(
        registry,
        'redis_latency_seconds',
        'Time that the latest answered PING took',
        () => (watchOf(redis)?.latencyMs ?? 0) / 1000,
      );
      let seen = 0;
      new Counter({
        name: 'redis_skipped_commands_total',
        help: 'Commands left out or failed because Redis did not answer, including rate limits',
        registers: [registry],
        collect() {
          const { skipped = 0 } = watchOf(redis) ?? {};
          this.inc(skipped - seen);
          seen = skipped;
        },
      });
    },
  };
}

function probeDisk(folder: string): HealthProbe {
  const freeBytes = async () => {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  };
  return {
    name: 'disk',
    async read() {
      if ((await freeBytes()) >= minFreeBytes) return { state: 'ok' };
      return { state: 'full', impaired: 'Nothing can be stored: the disk is full.', healthy: false };
    },
    addMetrics: (registry) => addGauge(registry, 'disk_free_bytes', 'Room under the embedded database', freeBytes),
  };
}

/** Reads work while another process holds the lock, so only a write shows it. */
function probeLock(isLocked: () => Promise<boolean>): HealthProbe {
  const impaired = 'Nothing can be stored: another process holds the lock of the SQLite database.';
  return {
    name: 'lock',
    async read() {
      return (await isLocked()) ? { state: 'held by another process', impaired, healthy: false } : { state: 'ok' };
    },
  };
}

/** Compares this machine's clock with that of `readTime`, in milliseconds; at most every 10 s. */
function probeClock(readTime: () => Promise<number>): HealthProbe {
  let skewMs = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  const readSkew = async () => {
    const before = performance.now();
    if (before - readAt < clockMs) return skewMs;
    readAt = before;
    const start = Date.now();
    const other = await readTime().catch(() => undefined);
    if (other === undefined) return skewMs;
    const tripMs = performance.now() - before;
    // A difference shorter than the round trip is not known to be one.
    const difference = start + tripMs / 2 - other;
    skewMs = Math.abs(difference) <= tripMs / 2 ? 0 : difference;
    return skewMs;
  };
  return {
    name: 'clock',
    async read() {
      const seconds = (await readSkew()) / 1000;
      if (Math.abs(seconds) * 1000 < maxSkewMs) return { state: 'ok' };
      const state = `${Math.abs(seconds).toFixed(1)} s ${seconds > 0 ? 'ahead of' : 'behind'} the database`;
      return { state, impaired: `Times are wrong: the clock is ${state}.` };
    },
    addMetrics: (registry) =>
      addGauge(
        registry,
        'clock_skew_seconds',
        "This machine's clock minus the database's",
        async () => (await readSkew()) / 1000,
      ),
  };
}

/** No fields while all is well. */
async function readProbes(probes: readonly HealthProbe[]) {
  const results = await Promise.all(
    probes.map(async (probe) => ({
      name: probe.name,
      ...(await probe.read().catch((): ProbeResult => ({ state: 'unknown' }))),
    })),
  );
  const faults = results.filter(({ impaired }) => impaired !== undefined);
  return {
    healthy: results.every(({ healthy }) => healthy !== false),
    fields: {
      ...Object.fromEntries(faults.map(({ name, state }) => [name, state])),
      ...(faults.length > 0 && { impaired: faults.map(({ impaired }) => impaired) }),
    },
  };
}
