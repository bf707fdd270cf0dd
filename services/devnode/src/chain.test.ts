import { expect, test } from 'vitest';
import { createChain, parseHeight } from './chain.ts';

test('the height grows by one every block and never falls, whoever looks', () => {
  let now = Date.UTC(2026, 5, 1);
  const options = { clock: () => now, blockMs: 2_000 };
  const before = createChain(options).latestHeight();
  now += 1_999;
  expect(createChain(options).latestHeight()).toBe(before);
  now += 1;
  expect(createChain(options).latestHeight()).toBe(before + 1);
});

test('a block has the time at which it became the latest', () => {
  let now = Date.UTC(2026, 5, 1);
  const chain = createChain({ clock: () => now, blockMs: 5_000 });
  const height = chain.latestHeight();
  now = chain.timeOf(height + 1).getTime();
  expect(chain.latestHeight()).toBe(height + 1);
  now -= 1;
  expect(chain.latestHeight()).toBe(height);
});

test('a clock that is far behind still gives a block', () => {
  expect(createChain({ clock: () => 0, blockMs: 5_000 }).latestHeight()).toBe(1);
});

test('a header given twice is refused', () => {
  expect(parseHeight(['1', '2'], 10)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENT' });
  expect(parseHeight(undefined, 10)).toEqual({ ok: true, height: 10 });
});
