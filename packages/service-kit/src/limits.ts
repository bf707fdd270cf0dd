import type { IncomingMessage } from 'node:http';
import { AppError } from '@palaver/contract';
import { createMinuteWindows, type MinuteCount, mergedMs, minuteMs } from '@palaver/contract/internal';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { clientAddress, toAddressKey } from './client-address.ts';
import { askRedis } from './redis.ts';

/** Counts one use of a key in the last 60 seconds, up to `max`; `undefined` while it cannot be counted. */
export type CountInMinute = (key: string, max?: number) => MinuteCount | Promise<MinuteCount | undefined>;

const maxOver = 10_000;

export function countInMemory(options: Parameters<typeof createMinuteWindows>[0] = {}): CountInMinute {
  const windows = createMinuteWindows(options);
  return (key, max = Number.POSITIVE_INFINITY) => {
    const { count, leftMs } = windows.look(key);
    if (count < max) windows.add(key);
    return { count: count + 1, leftMs };
  };
}

// While Redis is unreachable nobody is counted: that must not take the service down. A key over `max` stays so until
// its oldest use is a minute ago, which is known without asking.
export function countInRedis(redis: Redis, name: string): CountInMinute {
  const over = new LRUCache<string, number>({ max: maxOver });
  redis.defineCommand('countInMinute', { numberOfKeys: 1, lua: script });
  const counting = redis as unknown as { countInMinute(counter: string, max: number): Promise<[number, number]> };
  return async (key, max = Number.MAX_SAFE_INTEGER) => {
    const endsAt = over.get(key);
    const now = performance.now();
    if (endsAt !== undefined && now < endsAt) return { count: max + 1, leftMs: endsAt - now };
    // The name changes with what is stored under it.
    const counted = await askRedis(redis, () => counting.countInMinute(`palaver:minute:${name}:${key}`, max));
    if (!counted) return undefined;
    const [count, leftMs] = counted;
    if (count > max) over.set(key, performance.now() + leftMs);
    return { count, leftMs };
  };
}

/** The entries that are kept in memory, as a flat list. One script, so that two instances cannot both take the last place. */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = {}
local total = 0
local packed = redis.call('GET', KEYS[1])
if packed then
  local known = cmsgpack.unpack(packed)
  for i = 1, #known, 3 do
    if now - known[i + 1] < ${minuteMs} then
      kept[#kept + 1] = known[i]
      kept[#kept + 1] = known[i + 1]
      kept[#kept + 1] = known[i + 2]
      total = total + known[i + 2]
    end
  end
end
if total < tonumber(ARGV[1]) then
  local size = #kept
  if size > 0 and now - kept[size - 2] < ${mergedMs} then
    kept[size - 1] = now
    kept[size] = kept[size] + 1
  else
    kept[size + 1] = now
    kept[size + 2] = now
    kept[size + 3] = 1
  end
  redis.call('SET', KEYS[1], cmsgpack.pack(kept), 'PX', ${minuteMs})
end
return { total + 1, (kept[2] or now) + ${minuteMs} - now }
`;

export interface RateLimitOptions {
  name: string;
  perMinute: number;
  /** Counters are shared by all instances that use the same Redis; without it they are kept in memory. */
  redis?: Redis | undefined;
  /** What is counted; by default the client's address. A request without a key is not counted. */
  key?: (request: FastifyRequest) => string | undefined;
  /** The limit itself, if requests are also counted elsewhere. */
  limit?: RateLimit;
  /** `onRequest` counts every request, `preHandler` only those that authentication and validation let through. */
  hook?: 'onRequest' | 'preHandler';
}

/** The state of a key's rate limit. */
export interface RateStanding {
  perMinute: number;
  remaining: number;
  /** Seconds until it may start again. */
  resetSeconds: number;
  isOver: boolean;
}

export type RateLimit = (key: string) => RateStanding | undefined | Promise<RateStanding | undefined>;

export function createRateLimit({
  name,
  perMinute,
  redis,
}: Pick<RateLimitOptions, 'name' | 'perMinute' | 'redis'>): RateLimit {
  const count = redis ? countInRedis(redis, name) : countInMemory();
  const toStanding = (counted: MinuteCount | undefined) =>
    counted && {
      perMinute,
      remaining: Math.max(0, perMinute - counted.count),
      resetSeconds: Math.ceil(counted.leftMs / 1000),
      isOver: counted.count > perMinute,
    };
  return (key) => {
    const counted = count(key, perMinute);
    return counted instanceof Promise ? counted.then(toStanding) : toStanding(counted);
  };
}

const counted = new WeakMap<IncomingMessage, RateStanding>();

export function noteCounted(request: IncomingMessage, standing: RateStanding): void {
  counted.set(request, standing);
}

/** Limits all routes registered on `scope` after this call; they share one counter per key. */
export function addRateLimit(scope: FastifyInstance, options: RateLimitOptions): void {
  const {
    key = (request) => toAddressKey(clientAddress(request)),
    hook = 'onRequest',
    limit = createRateLimit(options),
  } = options;
  // As a hook of the scope, not of each route: it runs before a route's own guards, so refused requests count too.
  scope.addHook(hook as 'onRequest', (request, reply, done) => {
    const settle = (standing: RateStanding | undefined) => {
      if (standing) setRateHeaders(reply, standing);
      done(standing?.isOver ? toRateError(standing) : undefined);
    };
    const counter = key(request);
    if (counter === undefined) return done();
    const standing = counted.get(request.raw) ?? limit(counter);
    // Without Redis there is nothing to wait for, and a hook that waits costs more than the count.
    if (standing instanceof Promise) standing.then(settle, done);
    else settle(standing);
  });
}

export function setRateHeaders(reply: FastifyReply, standing: RateStanding): void {
  reply.headers(toRateHeaders(standing));
  if (standing.isOver) reply.header('retry-after', standing.resetSeconds);
}

export function toRateHeaders({ perMinute, remaining, resetSeconds }: RateStanding): Record<string, string> {
  return {
    'ratelimit-limit': String(perMinute),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSeconds),
  };
}

export function toRateError({ perMinute, resetSeconds }: Pick<RateStanding, 'perMinute' | 'resetSeconds'>): AppError {
  return new AppError('RATE_LIMITED', `More than ${perMinute} requests in a minute; try again in ${resetSeconds} s.`);
}

/** How it would be if an owner took some bytes. */
interface Holding {
  own: number;
  others: number;
  owners: number;
}

export interface ByteShare {
  /** Counts bytes; throws where there is no room for them. */
  take(bytes: number): void;
  free(): void;
}

/** Counts the bytes of requests, replies or files that each owner has in memory. `hasRoom` says who may have more. */
export function createByteCounter(hasRoom: (holding: Holding) => boolean, toError: () => Error) {
  const owners = new Map<string, number>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    total += bytes;
    const own = (owners.get(owner) ?? 0) + bytes;
    if (own > 0) owners.set(owner, own);
    else owners.delete(owner);
  }

  return (owner: string): ByteShare => {
    let taken = 0;
    return {
      take(bytes) {
        const own = owners.get(owner);
        const count = owners.size + (own === undefined ? 1 : 0);
        if (!hasRoom({ own: (own ?? 0) + bytes, others: total - (own ?? 0), owners: count })) throw toError();
        taken += bytes;
        add(owner, bytes);
      },
      free() {
        add(owner, -taken);
        taken = 0;
      },
    };
  };
}
