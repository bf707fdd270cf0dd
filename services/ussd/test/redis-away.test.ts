import { freePort, startRedis, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startService } from './service-fixture.ts';

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
    await waitFor('health to tell', async () => {
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

test('a start while Redis is away works', async () => {
  await using service = await startService('sqlite', { REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
  expect(await service.say('a', '')).toMatch(/^CON Welcome/);
});
