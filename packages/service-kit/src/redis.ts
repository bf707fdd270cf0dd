import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from './logger.ts';
import { parseRedisAddress } from './redis-address.ts';
import { StartError } from './start-error.ts';

/** `not answering`: connected, but commands time out. */
export type RedisState = 'connected' | 'disconnected' | 'not answering';

/** What is known of a Redis from its latest command: the breaker, and what health and metrics show. */
interface RedisWatch {
  state: RedisState;
  latencyMs: number;
  /** Commands that were left out, or failed, because Redis could not be asked. */
  skipped: number;
  settle(state: RedisState, err: unknown): void;
}

const connectMs = 2_000;
const commandMs = 500;
const probeMs = 1_000;
/** A connection that has not answered for this many probes is replaced: the network may have dropped it silently. */
const maxMissed = 10;
const watches = new WeakMap<Redis, RedisWatch>();

/**
 * Connects to Redis or Valkey, alone, by Sentinel or as a cluster. One that is unreachable is waited for in the background, at the
 * start too; commands fail after half a second.
 */
export async function openRedis(url: string, logger: Logger): Promise<Redis> {
  const redis = connect(url);
  const watch: RedisWatch = {
    state: 'disconnected',
    latencyMs: 0,
    skipped: 0,
    settle(state, err) {
      if (state !== 'connected' && watch.state === 'connected') logger.warn({ err }, `Redis is ${state}`);
      if (state === 'connected' && watch.state !== 'connected') logger.info('Redis is connected');
      watch.state = state;
    },
  };
  watches.set(redis, watch);
  let last = new Error('no connection');
  redis.on('error', (error: Error) => {
    last = error;
  });
  let missed = 0;
  const probe = async () => {
    const started = performance.now();
    try {
      await redis.ping();
      watch.latencyMs = performance.now() - started;
      missed = 0;
      watch.settle('connected', undefined);
    } catch (error) {
      missed += 1;
      watch.settle(toFaultState(redis), isOpen(redis) ? error : last);
      if (isOpen(redis) && missed % maxMissed === 0) redis.disconnect(true);
    }
  };
  const timer = setInterval(probe, probeMs).unref();
  redis.on('ready', () => void probe());
  redis.on('reconnecting', () => watch.settle('disconnected', last));
  redis.on('end', () => clearInterval(timer));

  const connected = redis.connect().catch(() => {});
  await Promise.race([connected, sleep(connectMs, undefined, { ref: false })]);
  await probe();
  if (watch.state !== 'connected') logger.warn({ err: last }, `Redis is ${watch.state}; it is tried again`);
  return redis;
}

function connect(url: string): Redis {
  const address = parseRedisAddress(url);
  if (!address) throw new StartError('REDIS_URL is not a Redis address. For example: redis://127.0.0.1:6379.');
  const shared: RedisOptions = {
    connectTimeout: connectMs,
    commandTimeout: commandMs,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
  };
  const options = { ...shared, ...address.options };
  // Copies wait for messages, for longer than a command may take.
  const toCopy = (override?: Partial<RedisOptions>) => ({ ...options, commandTimeout: undefined, ...override });
  if (address.kind === 'single') {
    const redis = new Redis({ ...options, lazyConnect: true });
    redis.duplicate = (override) => new Redis(toCopy(override) as RedisOptions);
    return redis;
  }
  // The connections to its nodes open with their first command, which therefore has to wait for them.
  const { enableOfflineQueue: _, ...nodeOptions } = options;
  const cluster = new Cluster(address.nodes, { lazyConnect: true, redisOptions: nodeOptions });
  // The commands are the same; what a single server has beyond them is not used.
  const redis = cluster as unknown as Redis;
  redis.duplicate = (override) => {
    const { lazyConnect = false, enableOfflineQueue = true, ...redisOptions } = toCopy(override) as RedisOptions;
    return new Cluster(address.nodes, { lazyConnect, enableOfflineQueue, redisOptions }) as unknown as Redis;
  };
  return redis;
}

function isOpen(redis: Redis): boolean {
  return redis.status === 'ready';
}

function toFaultState(redis: Redis): RedisState {
  return isOpen(redis) ? 'not answering' : 'disconnected';
}

/** What is known of a client that {@link openRedis} made. */
export function watchOf(redis: Redis): Pick<RedisWatch, 'state' | 'latencyMs' | 'skipped'> | undefined {
  return watches.get(redis);
}

/**
 * Runs a command that the caller can do without; `undefined` while Redis is unreachable or hangs. Only the first caller waits for a
 * time-out: after it nobody asks until a probe has been answered.
 */
export async function askRedis<T>(redis: Redis, ask: () => Promise<T>): Promise<T | undefined> {
  const watch = watches.get(redis);
  if (watch?.state !== 'disconnected' && watch?.state !== 'not answering') {
    try {
      return await ask();
    } catch (error) {
      watch?.settle(toFaultState(redis), error);
    }
  }
  if (watch) watch.skipped += 1;
  return undefined;
}
