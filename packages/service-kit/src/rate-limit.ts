import { AppError } from '@palaver/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { clientAddress, toAddressKey } from './client-address.ts';
import { countInMemory, countInRedis, type MinuteCount } from './count-in-minute.ts';

export interface RateLimitOptions {
  /** Sets this limit's counters apart from others in the same Redis. */
  name: string;
  perMinute: number;
  /** Counters are shared by all instances that use the same Redis; without it they are kept in memory. */
  redis?: Redis | undefined;
  /** What is counted; by default the client's address. A request without a key is not counted. */
  key?: (request: FastifyRequest) => string | undefined;
  /** `onRequest` counts every request, `preHandler` only those that authentication and validation let through. */
  hook?: 'onRequest' | 'preHandler';
}

/** Limits all routes registered on `scope` after this call; they share one counter per key. */
export function addRateLimit(scope: FastifyInstance, options: RateLimitOptions): void {
  const {
    name,
    perMinute,
    redis,
    key = (request) => toAddressKey(clientAddress(request)),
    hook = 'onRequest',
  } = options;
  const count = redis ? countInRedis(redis, name, perMinute) : countInMemory();
  // As a hook of the scope, not of each route: it runs before a route's own guards, so refused requests count too.
  scope.addHook(hook as 'onRequest', (request, reply, done) => {
    const settle = (counted: MinuteCount | undefined) => done(counted && judge(counted, perMinute, reply));
    const counter = key(request);
    if (counter === undefined) return done();
    const counted = count(counter);
    // Without Redis there is nothing to wait for, and a hook that waits costs more than the count.
    if (counted instanceof Promise) counted.then(settle, done);
    else settle(counted);
  });
}

/** Tells the client how it stands; an error when it is over the limit. */
function judge({ count, leftMs }: MinuteCount, perMinute: number, reply: FastifyReply): AppError | undefined {
  const seconds = Math.ceil(leftMs / 1000);
  reply.header('ratelimit-limit', perMinute);
  reply.header('ratelimit-remaining', Math.max(0, perMinute - count));
  reply.header('ratelimit-reset', seconds);
  if (count <= perMinute) return undefined;
  reply.header('retry-after', seconds);
  return new AppError('RATE_LIMITED', `More than ${perMinute} requests in a minute; try again in ${seconds} s.`);
}
