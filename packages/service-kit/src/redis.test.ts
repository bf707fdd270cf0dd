import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTempDir, freePort, type RunningRedis, startRedis, testWithRedis, waitFor } from '@palaver/test-kit';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createServer } from './create-server.ts';
import { createProbes } from './lifecycle.ts';
import { addRateLimit, countInRedis } from './limits.ts';
import { createLogger } from './logger.ts';
import { openRedis, parseRedisAddress, watchOf } from './redis.ts';

/** A logger and the levels and messages it has written. */
function createTestLogger() {
  const lines: { level: string; msg: string }[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { lines, logger: createLogger({ name: 'test', level: 'info', destination }) };
}

async function startOwnRedis(extra: string[] = [], port?: number) {
  const server = (await startRedis(extra, port)) as RunningRedis;
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.stop() });
}

test.each([
  ['redis://cache', { kind: 'single', options: { host: 'cache', port: 6379 } }],
  [
    'rediss://me:se%40cret@cache:7000/3',
    { kind: 'single', options: { host: 'cache', port: 7000, username: 'me', password: 'se@cret', db: 3, tls: {} } },
  ],
  [
    'redis+cluster://:pw@a:1,[::1]:2',
    {
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
      ],
      options: { password: 'pw' },
    },
  ],
  [
    'redis+sentinel://a,b:2/main/1?sentinelPassword=x',
    {
      kind: 'single',
      options: {
        sentinels: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 2 },
        ],
        name: 'main',
        db: 1,
        sentinelPassword: 'x',
      },
    },
  ],
  ['redis://a,b', undefined],
  ['redis+sentinel://a', undefined],
  ['http://a', undefined],
  ['redis://', undefined],
])('the address %s', (url, parsed) => {
  expect(parseRedisAddress(url)).toEqual(parsed);
});

testWithRedis('a count is two commands, and none once the key is over its limit', async ({ redisUrl }) => {
  const { logger } = createTestLogger();
  const redis = await openRedis(redisUrl, logger);
  const seen: string[] = [];
  await using monitor = Object.assign(await new Redis(redisUrl).monitor(), {
    [Symbol.asyncDispose]: async () => monitor.disconnect(),
  });
  const name = `t${Date.now()}`;
  monitor.on('monitor', (_time, args: string[]) => {
    if (args[1]?.includes(name)) seen.push(args[0] ?? '');
  });
  const count = countInRedis(redis, name);
  const counts = [];
  for (let index = 0; index < 14; index += 1) counts.push((await count('a', 10))?.count);
  await redis.get(`${name}-end`);
  await waitFor('the last command', () => seen.includes('get'));
  expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 11, 11]);
  // The script, its commands, and nothing more once the key is known to be over.
  expect(seen.filter((command) => /^eval/i.test(command)).length).toBeLessThanOrEqual(12);
  redis.disconnect();
});

describe('Redis that goes away', () => {
  testWithRedis(
    'hung: one request waits, nobody is refused, health and one line say so, then it counts again',
    async () => {
      await using server = await startOwnRedis();
      const { logger, lines } = createTestLogger();
      const redis = await openRedis(server.url, logger);
      const app = await createServer({
        name: 'test',
        logger: createLogger({ name: 'test', level: 'silent' }),
        trustProxy: false,
        operatorToken: undefined,
        bodyLimit: 100,
        health: async () => ({ healthy: true, body: { status: 'ok' } }),
        probes: createProbes({ redis, withoutRedis: 'Rate limits are not enforced.' }),
      });
      await app.register(async (scope) => {
        addRateLimit(scope, { name: 'test', perMinute: 2, redis });
        scope.get('/a', async () => 'a');
      });
      const ask = async () => (await app.inject('/a')).statusCode;
      expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
      server.kill('SIGSTOP');
      const from = (remoteAddress: string) => app.inject({ url: '/a', remoteAddress });
      for (let index = 0; index < 50; index += 1) expect((await from(`192.0.2.${index}`)).statusCode).toBe(200);
      expect((await app.inject('/health')).json()).toEqual({
        status: 'ok',
        redis: 'not answering',
        impaired: ['Rate limits are not enforced.'],
      });
      expect((await app.inject('/metrics')).body).toMatch(/redis_up\{service="test"\} 0\n/);
      expect((await app.inject('/metrics')).body).toMatch(/redis_skipped_commands_total\{service="test"\} 50\n/);
      expect(lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual(['Redis is not answering']);
      server.kill('SIGCONT');
      await waitFor('Redis', () => watchOf(redis)?.state === 'connected');
      expect((await app.inject('/health')).json()).toEqual({ status: 'ok' });
      expect((await from('192.0.2.200')).headers['ratelimit-remaining']).toBe('1');
      redis.disconnect();
      await app.close();
    },
  );

  testWithRedis('away at the start: it is waited for; it logs one line per outage', async () => {
    const port = await freePort();
    const { logger, lines } = createTestLogger();
    const redis = await openRedis(`redis://127.0.0.1:${port}`, logger);
    const count = countInRedis(redis, 'test');
    expect(await count('a')).toBeUndefined();
    for (let outage = 0; outage < 2; outage += 1) {
      await using _server = await startOwnRedis([], port);
      await waitFor('Redis', () => watchOf(redis)?.state === 'connected');
      expect(await count('a')).toMatchObject({ count: 1 });
    }
    await waitFor('the outage', async () => (await count('a')) === undefined);
    for (let index = 0; index < 20; index += 1) await count('a');
    redis.disconnect();
    const fault = /^Redis is (disconnected|not answering)$/;
    expect(lines.map(({ msg }) => msg.replace(fault, 'fault'))).toEqual([
      'Redis is disconnected; it is tried again',
      'Redis is connected',
      'fault',
      'Redis is connected',
      'fault',
    ]);
  });
});

describe('several Redis servers', () => {
  testWithRedis('by Sentinel: counting continues on the replica when the master dies', async () => {
    await using dir = await createTempDir();
    await using master = await startOwnRedis();
    const { port } = new URL(master.url);
    await using replica = await startOwnRedis(['--replicaof', `127.0.0.1 ${port}`]);
    const config = join(dir.path, 'sentinel.conf');
    const settings = [
      `sentinel monitor main 127.0.0.1 ${port} 1`,
      'sentinel down-after-milliseconds main 300',
      'sentinel failover-timeout main 2000',
    ];
    await writeFile(config, `${settings.join('\n')}\n`);
    await using sentinel = await startOwnRedis([config, '--sentinel']);
    const asked = new Redis(sentinel.url);
    await waitFor('the replica', async () => ((await asked.call('SENTINEL', 'replicas', 'main')) as unknown[]).length);
    const { logger } = createTestLogger();
    const redis = await openRedis(`redis+sentinel://${new URL(sentinel.url).host}/main`, logger);
    const count = countInRedis(redis, 'test');
    expect(await count('a')).toMatchObject({ count: 1 });
    master.kill('SIGKILL');
    await waitFor('the replica to count', async () => (await count('b')) !== undefined);
    const promoted = new Redis(replica.url);
    expect(await promoted.exists('palaver:minute:test:b')).toBe(1);
    for (const client of [promoted, asked, redis]) client.disconnect();
  });

  testWithRedis('a cluster counts', async () => {
    await using dir = await createTempDir();
    await using server = await startOwnRedis([
      '--cluster-enabled',
      'yes',
      '--cluster-announce-ip',
      '127.0.0.1',
      '--cluster-port',
      String(await freePort()),
      '--dir',
      dir.path,
    ]);
    const setup = new Redis(server.url);
    await setup.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await waitFor('the cluster', async () => String(await setup.call('CLUSTER', 'INFO')).includes('cluster_state:ok'));
    setup.disconnect();
    const { logger } = createTestLogger();
    const redis = await openRedis(`redis+cluster://${new URL(server.url).host}`, logger);
    const count = countInRedis(redis, 'test');
    expect([(await count('a'))?.count, (await count('a'))?.count, (await count('b'))?.count]).toEqual([1, 2, 1]);
    redis.disconnect();
  });
});
