import { createLogger, openRedis } from '@palaver/service-kit';
import { testWithRedis } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { countInMemory, countInRedis } from './count-in-minute.ts';

test('each name has its own count, which begins anew when its minute has passed', async () => {
  let time = 0;
  const count = countInMemory(() => time);
  expect(await count('a')).toEqual({ count: 1, leftMs: 60_000 });
  time = 20_000;
  expect(await count('a')).toEqual({ count: 2, leftMs: 40_000 });
  expect(await count('b')).toEqual({ count: 1, leftMs: 60_000 });
  time = 60_000;
  expect(await count('a')).toEqual({ count: 1, leftMs: 60_000 });
});

testWithRedis('instances count together, and nobody is counted while Redis is away', async ({ redisUrl }) => {
  const logger = createLogger({ name: 'test', level: 'silent' });
  const [one, two] = await Promise.all([openRedis(redisUrl, logger), openRedis(redisUrl, logger)]);
  const name = `t${Date.now()}`;
  const counts = [];
  for (const redis of [one, two, one]) counts.push(await countInRedis(redis)(name));
  expect(counts.map(({ count }) => count)).toEqual([1, 2, 3]);
  for (const { leftMs } of counts) expect(leftMs > 0 && leftMs <= 60_000).toBe(true);
  expect(await countInRedis(two)(`${name}-other`)).toMatchObject({ count: 1 });
  one.disconnect();
  expect(await countInRedis(one)(name)).toEqual({ count: 0, leftMs: 0 });
  two.disconnect();
});
