import { testWithRedis } from '@palaver/test-kit';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { TrustProxy } from './client-address.ts';
import { createServer } from './create-server.ts';
import { addRateLimit, countInMemory, countInRedis, createByteCounter, type RateLimitOptions } from './limits.ts';
import { createLogger } from './logger.ts';
import { openRedis } from './redis.ts';
import type { Server } from './server.ts';

test('each key has its own count of the last minute; what is refused does not count', async () => {
  let time = 0;
  const count = countInMemory({ now: () => time });
  expect(await count('a', 3)).toEqual({ count: 1, leftMs: 60_000 });
  time = 20_000;
  expect(await count('a', 3)).toEqual({ count: 2, leftMs: 40_000 });
  expect(await count('b', 3)).toEqual({ count: 1, leftMs: 60_000 });
  time = 59_999;
  expect(await count('a', 3)).toEqual({ count: 3, leftMs: 1 });
  expect(await count('a', 3)).toEqual({ count: 4, leftMs: 1 });
  time = 60_000;
  expect(await count('a', 3)).toEqual({ count: 3, leftMs: 20_000 });
  expect(await count('a', 3)).toEqual({ count: 4, leftMs: 20_000 });
  time = 200_000;
  expect(await count('a', 3)).toEqual({ count: 1, leftMs: 60_000 });
});

test('in no minute more than the limit pass, whenever they come', () => {
  const waits = fc.array(fc.nat({ max: 30_000 }), { maxLength: 200 });
  fc.assert(
    fc.property(waits, fc.integer({ min: 1, max: 20 }), (gaps, max) => {
      let time = 0;
      const count = countInMemory({ now: () => time });
      const passed: number[] = [];
      for (const gap of gaps) {
        time += gap % 7 === 0 ? gap : gap % 700;
        if ((count('a', max) as { count: number }).count <= max) passed.push(time);
      }
      for (const [index, at] of passed.entries())
        expect((passed[index + max] ?? Infinity) - at).toBeGreaterThanOrEqual(60_000);
    }),
  );
});

test('the keys of many clients do not grow without end, and the last ones are still counted', async () => {
  const count = countInMemory({ now: () => 0, maxKeys: 10 });
  for (let index = 0; index < 1_000; index += 1) {
    expect(await count(`k${index}`)).toMatchObject({ count: 1 });
    if (index > 0) expect(await count(`k${index - 1}`)).toMatchObject({ count: 2 });
  }
  expect(await count('k0')).toMatchObject({ count: 1 });
});

testWithRedis('instances count together, and nobody is counted while Redis is unreachable', async ({ redisUrl }) => {
  const logger = createLogger({ name: 'test', level: 'silent' });
  const [one, two] = await Promise.all([openRedis(redisUrl, logger), openRedis(redisUrl, logger)]);
  const name = `t${Date.now()}`;
  const counts = [];
  for (const redis of [one, two, one]) counts.push(await countInRedis(redis, name)('a'));
  expect(counts.map((counted) => counted?.count)).toEqual([1, 2, 3]);
  for (const counted of counts) expect(counted && counted.leftMs > 0 && counted.leftMs <= 60_000).toBe(true);
  expect(await countInRedis(two, name)('b')).toMatchObject({ count: 1 });
  // Two instances together let no more pass than one.
  const [here, there] = [countInRedis(one, `${name}-limited`), countInRedis(two, `${name}-limited`)];
  const taken = await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? here : there)('c', 25)));
  expect(taken.filter((counted) => (counted?.count ?? 0) <= 25)).toHaveLength(25);
  one.disconnect();
  expect(await countInRedis(one, name)('a')).toBeUndefined();
  two.disconnect();
});

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

test('an owner has what its shares have taken and not freed, and takes nothing where it is refused', () => {
  const asked: object[] = [];
  const open = createByteCounter(
    (holding) => asked.push(holding) > 0 && holding.own <= 5,
    () => new Error('no room'),
  );
  const [ana, anaToo, ben] = [open('ana'), open('ana'), open('ben')];
  ana.take(3);
  anaToo.take(2);
  ben.take(5);
  expect(() => ana.take(1)).toThrow('no room');
  ana.free();
  ana.free();
  anaToo.take(3);
  expect(asked).toEqual([
    { own: 3, others: 0, owners: 1 },
    { own: 5, others: 0, owners: 1 },
    { own: 5, others: 5, owners: 2 },
    { own: 6, others: 5, owners: 2 },
    { own: 5, others: 5, owners: 2 },
  ]);
});
