import type { IncomingMessage } from 'node:http';
import { AppError } from '@palaver/contract';
import type { MinuteCount } from '@palaver/contract/internal';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { clientAddress, toAddressKey } from './client-address.ts';
import { countInMemory, countInRedis } from './count-in-minute.ts';

export interface RateLimitOptions {
  /** Sets this limit's counters apart from others in the same Redis. */
  name: string;
  perMinute: number;
  /** Counters are shared by all instances that use the same Redis; without it they are kept in memory. */
  redis?: Redis | undefined;
  /** What is counted; by default the client's address. A request without a key is not counted. */
  key?: (request: FastifyRequest) => string | undefined;
  /** The limit itself, where requests are also counted elsewhere. */
  limit?: RateLimit;
  /** `onRequest` counts every request, `preHandler` only those that authentication and validation let through. */
  hook?: 'onRequest' | 'preHandler';
}

/**
 * The state of a key's rate limit.
 *
 * @example
 * ```ts
 * import type { RateStanding } from '@palaver/agent';
 *
 * export const isClose = ({ remaining }: RateStanding) => remaining < 5;
 * ```
 */
export interface RateStanding {
  perMinute: number;
  remaining: number;
  /** Seconds until it may start again. */
  resetSeconds: number;
  isOver: boolean;
}

/** Counts one use of a key; undefined while Redis is unreachable and nobody is counted. */
export type RateLimit = (key: string) => RateStanding | undefined | Promise<RateStanding | undefined>;

/** A limit that does not depend on a route: `setRateHeaders` and `toRateError` report what it says. */
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

/** Requests that were counted before they came to a route. */
const counted = new WeakMap<IncomingMessage, RateStanding>();

/** Keeps a request from being counted again at its route. */
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

export function toRateError({ perMinute, resetSeconds }: RateStanding): AppError {
  return new AppError('RATE_LIMITED', `More than ${perMinute} requests in a minute; try again in ${resetSeconds} s.`);
}
