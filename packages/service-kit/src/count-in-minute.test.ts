import { testWithRedis } from '@palaver/test-kit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countInMemory, countInRedis } from './count-in-minute.ts';
import { createLogger } from './logger.ts';
import { openRedis } from './redis.ts';

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
