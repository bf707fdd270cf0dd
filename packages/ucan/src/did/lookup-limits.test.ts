import { expect, test } from 'vitest';
import { createLookupLimits } from './lookup-limits.ts';

test('a client has four places at once, and gets them back', () => {
  const limits = createLookupLimits(100);
  const leaves = Array.from({ length: 4 }, () => limits.enter('a'));
  expect(leaves.every((leave) => leave !== null)).toBe(true);
  expect(limits.enter('a')).toBeNull();
  expect(limits.enter('b')).not.toBeNull();
  leaves[0]?.();
  expect(limits.enter('a')).not.toBeNull();
});

test('a client has a limit for each minute', () => {
  let now = 0;
  const limits = createLookupLimits(100, { perMinute: 3, now: () => now });
  const begin = () => {
    const leave = limits.enter('a');
    leave?.();
    return leave !== null;
  };
  expect([begin(), begin(), begin(), begin()]).toEqual([true, true, true, false]);
  expect(limits.enter('b')).not.toBeNull();
  now = 60_000;
  expect(begin()).toBe(true);
});

test('in no 60 seconds a client begins more than its limit', () => {
  let now = 59_000;
  const limits = createLookupLimits(100, { perMinute: 3, now: () => now });
  const begin = () => {
    const leave = limits.enter('a');
    leave?.();
    return leave !== null;
  };
  expect([begin(), begin(), begin()]).toEqual([true, true, true]);
  // Another minute of the clock, one second later.
  now = 60_000;
  expect(begin()).toBe(false);
  now = 118_999;
  expect(begin()).toBe(false);
  now = 119_000;
  expect(begin()).toBe(true);
});

test('all together have a bound, known by address or not', () => {
  const limits = createLookupLimits(2);
  const leave = limits.enter(undefined);
  expect(limits.enter('a')).not.toBeNull();
  expect(limits.enter('b')).toBeNull();
  leave?.();
  expect(limits.enter(undefined)).not.toBeNull();
});
