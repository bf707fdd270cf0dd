import { setImmediate as nextTick } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCache } from './cache.ts';

function createClock() {
  let time = 1_000;
  return { now: () => time, pass: (ms: number) => (time += ms) };
}

/** A load that nobody cancels. */
const toLoad =
  <T>(load: () => Promise<T>) =>
  () => ({ value: load(), cancel: () => undefined });

test('an answer is found until its time is over, and then only as a stale one', () => {
  const clock = createClock();
  const cache = createCache<string>({ maxBytes: 10_000, weigh: (text) => text.length, staleMs: 500, now: clock.now });
  cache.keep('a', 'x', 1_000);
  clock.pass(999);
  expect(cache.find('a')).toBe('x');
  clock.pass(1);
  expect(cache.find('a')).toBeUndefined();
  expect(cache.findStale('a')).toBe('x');
  clock.pass(500);
  expect(cache.findStale('a')).toBeUndefined();
  expect(cache.bytes()).toBe(0);
});

test('the least recently used goes first when the bytes run out', () => {
  const cache = createCache<string>({ maxBytes: 3_300, weigh: (text) => text.length, staleMs: 0 });
  for (const key of ['a', 'b', 'c']) cache.keep(key, 'x'.repeat(500), 60_000);
  expect(cache.find('a')).toBe('x'.repeat(500));
  cache.keep('d', 'x'.repeat(500), 60_000);
  expect([...'abcd'].filter((key) => cache.find(key))).toEqual(['a', 'c', 'd']);
  cache.keep('e', 'x'.repeat(5_000), 60_000);
  expect(cache.find('e')).toBeUndefined();
});

test('whatever is kept, the bytes stay within the bound', () => {
  const cache = createCache<number>({ maxBytes: 5_000, weigh: (size) => size, staleMs: 0 });
  fc.assert(
    fc.property(fc.string({ maxLength: 3 }), fc.nat(3_000), (key, size) => {
      cache.keep(key, size, 1_000);
      expect(cache.bytes()).toBeLessThanOrEqual(5_000);
      expect(cache.bytes()).toBeGreaterThanOrEqual(0);
    }),
  );
});

test('equal requests at the same time share one run', async () => {
  const cache = createCache<number>({ maxBytes: 1_000, weigh: () => 1, staleMs: 0 });
  let runs = 0;
  const load = async () => {
    await nextTick();
    runs += 1;
    return runs;
  };
  const results = [1, 2, 3].map(() => cache.share('k', toLoad(load)));
  expect(results.map(({ shared }) => shared)).toEqual([false, true, true]);
  expect(await Promise.all(results.map(({ value }) => value))).toEqual([1, 1, 1]);
  expect(await cache.share('k', toLoad(load)).value).toBe(2);
});

test('a run is cancelled when its last caller leaves, not before', async () => {
  const cache = createCache<string>({ maxBytes: 1_000, weigh: () => 1, staleMs: 0 });
  let cancelled = false;
  const load = () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const cancel = () => {
      cancelled = true;
      resolve('cancelled');
    };
    return { value: promise, cancel };
  };
  const first = cache.share('k', load);
  const second = cache.share('k', load);
  first.leave();
  expect(cancelled).toBe(false);
  second.leave();
  expect(cancelled).toBe(true);
  expect(await first.value).toBe('cancelled');
});

test('a run that fails is not remembered', async () => {
  const cache = createCache<number>({ maxBytes: 1_000, weigh: () => 1, staleMs: 0 });
  const failing = cache.share(
    'k',
    toLoad(() => Promise.reject(new Error('no'))),
  );
  await expect(failing.value).rejects.toThrow('no');
  expect(
    await cache.share(
      'k',
      toLoad(async () => 5),
    ).value,
  ).toBe(5);
});
