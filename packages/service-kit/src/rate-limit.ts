import rateLimit from '@fastify/rate-limit';
import { AppError } from '@palaver/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';

export interface RateLimitOptions {
  /** Sets this limit's counters apart from others in the same Redis. */
  name: string;
  perMinute: number;
  /** Counters are shared by all instances that use the same Redis; without it they are kept in memory. */
  redis?: Redis | undefined;
  /** What is counted; the client's address unless told. */
  key?: (request: FastifyRequest) => string;
  /** `onRequest` counts every request, `preHandler` only those that authentication and validation let through. */
  hook?: 'onRequest' | 'preHandler';
}

/** Limits all routes registered on `scope` after this call; they share one counter per key. */
export async function addRateLimit(scope: FastifyInstance, options: RateLimitOptions): Promise<void> {
  await scope.register(rateLimit, {
    max: options.perMinute,
    timeWindow: 60_000,
    global: false,
    keyGenerator: options.key ?? ((request) => request.ip),
    enableDraftSpec: true, // RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset
    cache: 100_000,
    ...(options.redis && { redis: options.redis, nameSpace: `palaver:rate:${options.name}:` }),
    // A Redis that is away must not take the service down with it: until it is back nobody is refused.
    skipOnError: true,
    errorResponseBuilder: (_request, { max, ttl }) => {
      const seconds = Math.ceil(ttl / 1000);
      return new AppError('RATE_LIMITED', `More than ${max} requests in a minute; try again in ${seconds} s.`);
    },
  });
  // As a hook of the scope, not of each route: it runs before a route's own guards, so refused requests count too.
  scope.addHook(options.hook ?? 'onRequest', scope.rateLimit());
}
