import { testWithRedis } from '@palaver/test-kit';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { TrustProxy } from './client-address.ts';
import { createServer } from './create-server.ts';
import { createLogger } from './logger.ts';
import { addRateLimit, type RateLimitOptions } from './rate-limit.ts';
import type { Server } from './server.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const servers: Server[] = [];

async function limited(options: Partial<RateLimitOptions> & { trustProxy?: TrustProxy } = {}): Promise<Server> {
  const { trustProxy = false, ...limit } = options;
  const server = await createServer({
    name: 'test',
    logger,
    trustProxy,
    operatorToken: undefined,
    bodyLimit: 100,
    health: async () => ({ healthy: true, body: {} }),
  });
  await server.register(async (scope) => {
    addRateLimit(scope, { name: 'test', perMinute: 3, ...limit });
    scope.get('/a', async () => 'a');
    scope.get('/b', { onRequest: server.operatorGuard }, async () => 'b');
  });
  servers.push(server);
  return server;
}

afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

const get = (server: Server, url: string, headers: Record<string, string> = {}) =>
  server.inject({ url, headers, remoteAddress: '192.0.2.1' });

test('routes of one scope share a counter, refused requests count, others are exempt', async () => {
  const server = await limited();
  expect((await get(server, '/a')).headers).toMatchObject({ 'ratelimit-limit': '3', 'ratelimit-remaining': '2' });
  expect((await get(server, '/b')).statusCode).toBe(401);
  expect((await get(server, '/a')).statusCode).toBe(200);
  const refused = await get(server, '/b');
  expect(refused.statusCode).toBe(429);
  expect(refused.json()).toMatchObject({ statusCode: 429, error: 'Too Many Requests', code: 'RATE_LIMITED' });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await get(server, '/health')).statusCode).toBe(200);
});

test('the limit slides: in no minute more than that many pass', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  try {
    const server = await limited({ perMinute: 100 });
    const passAfter = async (ms: number, times: number) => {
      vi.advanceTimersByTime(ms);
      let passed = 0;
      for (let i = 0; i < times; i += 1) passed += Number((await get(server, '/a')).statusCode === 200);
      return passed;
    };
    expect(await passAfter(0, 1)).toBe(1);
    expect(await passAfter(55_000, 110)).toBe(99);
    expect(await passAfter(10_000, 110)).toBe(1);
    expect(await passAfter(51_000, 110)).toBe(99);
  } finally {
    vi.useRealTimers();
  }
});

test('a spoofed X-Forwarded-For changes nothing, a trusted one is the client', async () => {
  const plain = await limited({ perMinute: 1 });
  const behind = await limited({ perMinute: 1, trustProxy: ['192.0.2.1'] });
  const from = (address: string) => ({ 'x-forwarded-for': address });
  expect([
    (await get(plain, '/a', from('198.51.100.1'))).statusCode,
    (await get(plain, '/a', from('198.51.100.2'))).statusCode,
  ]).toEqual([200, 429]);
  expect([
    (await get(behind, '/a', from('198.51.100.1'))).statusCode,
    (await get(behind, '/a', from('198.51.100.2'))).statusCode,
  ]).toEqual([200, 200]);
});

describe('with Redis', () => {
  testWithRedis(
    'instances share the counter, and nobody is refused while Redis is unreachable',
    async ({ redisUrl }) => {
      const redis = new Redis(redisUrl, {
        maxRetriesPerRequest: 0,
        enableOfflineQueue: false,
        lazyConnect: true,
        retryStrategy: null,
      });
      await redis.connect();
      const name = `t${Date.now()}`;
      const one = await limited({ redis, name });
      const two = await limited({ redis, name });
      const codes = [];
      for (const server of [one, two, one, two]) codes.push((await get(server, '/a')).statusCode);
      expect(codes).toEqual([200, 200, 200, 429]);
      redis.disconnect();
      expect((await get(one, '/a')).statusCode).toBe(200);
    },
  );
});
