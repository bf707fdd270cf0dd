import { freePort, startRedis, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { phoneNumber, serviceCode, startService } from './service-fixture.ts';

test('a Redis that hangs holds no caller up: limits are left out and counted, and /health says so', async ({
  skip,
}) => {
  const redis = await startRedis();
  if ('reason' in redis) return skip(redis.reason);
  try {
    await using service = await startService('sqlite', { REDIS_URL: redis.url });
    expect(await service.say('a', '')).toMatch(/^CON Welcome/);
    redis.kill('SIGSTOP');
    // More requests than could each wait for a time-out within the limit of this test.
    for (let i = 1; i <= 50; i++) expect(await service.say(`s${i}`, '1')).toMatch(/^CON About/);
    await waitFor('health to show it', async () => {
      const health = await service.get('/health');
      const body = (await health.json()) as { redis?: string; impaired?: string[] };
      return health.status === 200 && body.redis !== 'connected' && (body.impaired?.length ?? 0) > 0;
    });
    const metrics = await (await service.get('/metrics')).text();
    expect(Number(/^redis_skipped_commands\S* (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  } finally {
    await redis.stop();
  }
});

test('Redis that is unreachable at the start, killed and back empty: limits of all instances return without a restart', async ({
  skip,
}) => {
  const port = await freePort();
  const env = { REDIS_URL: `redis://127.0.0.1:${port}`, RATE_LIMIT_PER_MINUTE: '5', TRUST_PROXY_ENABLED: 'true' };
  await using one = await startService('postgres', env);
  await using two = await one.startAnother();
  /** Status codes of eight requests from one address, to one instance and the other in turn. */
  const ask = async (address: string) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address };
    const codes: number[] = [];
    for (let i = 0; i < 8; i++) {
      const fields = { sessionId: `${address}-${i}`, serviceCode, phoneNumber, text: '' };
      codes.push((await (i % 2 === 0 ? one : two).post(fields, { headers })).status);
    }
    return codes;
  };
  const isConnected = async () => {
    const healths = await Promise.all([one, two].map(async ({ get }) => (await get('/health')).json()));
    return healths.every((health) => !(health as { redis?: string }).redis);
  };
  expect(await ask('192.0.2.9')).toEqual(Array(8).fill(200));
  for (let outage = 0; outage < 2; outage++) {
    const redis = await startRedis([], port);
    if ('reason' in redis) return skip(redis.reason);
    try {
      await waitFor('both instances', isConnected);
      expect(await ask(`192.0.2.${outage}`)).toEqual([...Array(5).fill(200), ...Array(3).fill(429)]);
    } finally {
      await redis.stop();
    }
    await waitFor('health to show the outage', async () => !(await isConnected()));
  }
});
