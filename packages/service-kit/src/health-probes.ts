import { statfs } from 'node:fs/promises';
import type { Redis } from 'ioredis';
import { Counter, Gauge, type Registry } from 'prom-client';
import { watchOf } from './redis.ts';

/** One thing a service depends on beside its database: a field of `/health`, and gauges. */
export interface HealthProbe {
  /** The field's name. */
  name: string;
  read(): Promise<ProbeResult>;
  addMetrics?(registry: Registry): void;
}

export interface ProbeResult {
  /** The field's value. */
  state: string;
  /** What the service cannot do, in one sentence. */
  impaired?: string | undefined;
  /** False if the service cannot work at all: `/health` is 503 then. */
  healthy?: boolean;
}

const minFreeBytes = 16 * 1024 * 1024;
const maxSkewMs = 2_000;
const clockMs = 10_000;

export interface ProbedParts {
  redis?: Redis | undefined;
  /** What the service cannot do without Redis, in one sentence. */
  withoutRedis: string;
  /** Where an embedded database lies. */
  folder?: string | undefined;
  /** The time of a database on another machine. */
  readTime?: (() => Promise<number>) | undefined;
  /** Whether another process keeps the database locked. */
  isLocked?: (() => Promise<boolean>) | undefined;
}

/** The probes of a service. */
export function createProbes({ redis, withoutRedis, folder, readTime, isLocked }: ProbedParts): HealthProbe[] {
  return [
    ...(redis ? [probeRedis(redis, withoutRedis)] : []),
    ...(folder ? [probeDisk(folder)] : []),
    ...(readTime ? [probeClock(readTime)] : []),
    ...(isLocked ? [probeLock(isLocked)] : []),
  ];
}

/** Whether Redis answers; `impaired` is what the service cannot do without it. */
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

/** Whether the disk under an embedded database has room for the next write. */
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

/** Whether an embedded database takes writes: reads work while another process holds its lock. */
function probeLock(isLocked: () => Promise<boolean>): HealthProbe {
  const impaired = 'Nothing can be stored: another process holds the lock of the SQLite database.';
  return {
    name: 'lock',
    async read() {
      return (await isLocked()) ? { state: 'held by another process', impaired, healthy: false } : { state: 'ok' };
    },
  };
}

/** How far this machine's clock is from another's, which `readTime` gives in milliseconds; read every 10 s when asked for. */
export function probeClock(readTime: () => Promise<number>): HealthProbe {
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
    // Within the time of the round trip nothing is known.
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

function addGauge(registry: Registry, name: string, help: string, read: () => number | Promise<number>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await read());
    },
  });
}

/** The probes' part of `/health`: nothing while all is well. */
export async function readProbes(probes: readonly HealthProbe[]) {
  const results = await Promise.all(
    probes.map(async (probe) => ({ name: probe.name, ...(await probe.read().catch(toUnknown)) })),
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

function toUnknown(): ProbeResult {
  return { state: 'unknown' };
}
