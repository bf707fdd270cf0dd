import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type ClusterNode, Redis, type RedisOptions } from 'ioredis';
import { z } from 'zod';
import { StartError } from './errors.ts';
import type { Logger } from './logger.ts';

/** `not answering`: connected, but commands time out. */
type RedisState = 'connected' | 'disconnected' | 'not answering';

interface RedisWatch {
  state: RedisState;
  latencyMs: number;
  /** Commands that were skipped, or failed, because Redis could not be asked. */
  skipped: number;
  settle(state: RedisState, err: unknown): void;
}

const connectMs = 2_000;
const commandMs = 500;
const probeMs = 1_000;
/** A connection that has not answered for this many probes is replaced: the network may have dropped it silently. */
const maxMissed = 10;
const watches = new WeakMap<Redis, RedisWatch>();

/** An unreachable server is waited for in the background, also at the start; commands fail after half a second. */
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
  // Copies wait for messages longer than a command may take.
  const toCopy = (override?: Partial<RedisOptions>) => ({ ...options, commandTimeout: undefined, ...override });
  if (address.kind === 'single') {
    const redis = new Redis({ ...options, lazyConnect: true });
    redis.duplicate = (override) => new Redis(toCopy(override) as RedisOptions);
    return redis;
  }
  // Connections to the nodes open with their first command, which therefore has to wait for them.
  const { enableOfflineQueue: _, ...nodeOptions } = options;
  const cluster = new Cluster(address.nodes, { lazyConnect: true, redisOptions: nodeOptions });
  // The commands are the same; what only a single server has is not used.
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

export function watchOf(redis: Redis): Pick<RedisWatch, 'state' | 'latencyMs' | 'skipped'> | undefined {
  return watches.get(redis);
}

// `undefined` while Redis is unreachable or hangs: after one time-out nobody asks until a probe has been answered.
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

type RedisAddress =
  | { kind: 'single'; options: RedisOptions }
  | { kind: 'cluster'; nodes: ClusterNode[]; options: RedisOptions };

const pattern =
  /^redis(s?)(\+sentinel|\+cluster)?:\/\/(?:(?:([^:@/]*):)?([^@/]*)@)?([^/?@]+)((?:\/[^/?]*)*)(?:\?(.*))?$/;
const expected =
  'expected redis://host:6379, rediss:// for TLS, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379,host:26379/master-name';

// `redis://user:password@host:port/db`, `rediss://` for TLS; `redis+cluster://` with one or more nodes;
// `redis+sentinel://` with one or more sentinels, the master's name, a database, and `?sentinelPassword=`.
export function parseRedisAddress(url: string): RedisAddress | undefined {
  const [, tls, scheme, username, password, hosts = '', path = '', query] = pattern.exec(url) ?? [];
  const sentinel = scheme === '+sentinel';
  const nodes = hosts.split(',').map((host) => toNode(host, sentinel ? 26_379 : 6_379));
  if (hosts === '' || !nodes.every((node) => node !== undefined)) return undefined;
  const [first = '', second = ''] = path.split('/').slice(1);
  const db = sentinel ? second : first;
  if (!/^\d*$/.test(db) || (sentinel && first === '')) return undefined;
  const options: RedisOptions = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(db && { db: Number(db) }),
    ...(tls && { tls: {} }),
  };
  if (sentinel) {
    const sentinelPassword = new URLSearchParams(query).get('sentinelPassword');
    const shared = { sentinels: nodes, name: first, ...(tls && { enableTLSForSentinelMode: true }) };
    return { kind: 'single', options: { ...options, ...shared, ...(sentinelPassword && { sentinelPassword }) } };
  }
  if (scheme === '+cluster') return { kind: 'cluster', nodes, options };
  return nodes.length === 1 ? { kind: 'single', options: { ...options, ...nodes[0] } } : undefined;
}

export function envRedisUrl() {
  return z.string().refine((text) => parseRedisAddress(text) !== undefined, expected);
}

function toNode(text: string, defaultPort: number): { host: string; port: number } | undefined {
  const [, host = '', port] = /^(\[[\da-f:.]+\]|[^:\s]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  return host === '' ? undefined : { host: host.replace(/^\[|\]$/g, ''), port: Number(port ?? defaultPort) };
}
