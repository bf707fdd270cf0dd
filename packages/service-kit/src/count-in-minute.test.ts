import { testWithRedis } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { countInMemory, countInRedis } from './count-in-minute.ts';
import { createLogger } from './logger.ts';
import { openRedis } from './redis.ts';

test('each key has its own count, which begins again when its minute has passed', async () => {
  let time = 0;
  const count = countInMemory({ now: () => time });
  expect(await count('a')).toEqual({ count: 1, leftMs: 60_000 });
  time = 20_000;
  expect(await count('a')).toEqual({ count: 2, leftMs: 40_000 });
  expect(await count('b')).toEqual({ count: 1, leftMs: 60_000 });
  time = 60_000;
  expect(await count('a')).toEqual({ count: 1, leftMs: 60_000 });
  expect(await count('b')).toEqual({ count: 2, leftMs: 20_000 });
  time = 79_999;
  expect(await count('b')).toEqual({ count: 3, leftMs: 1 });
  time = 80_000;
  expect(await count('b')).toEqual({ count: 1, leftMs: 60_000 });
  time = 200_000;
  expect(await count('a')).toEqual({ count: 1, leftMs: 60_000 });
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
  one.disconnect();
  expect(await countInRedis(one, name)('a')).toBeUndefined();
  two.disconnect();
});
