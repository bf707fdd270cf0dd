import { expect, test } from 'vitest';
import {
  countFailure,
  isLocked,
  isLockedForGood,
  type Lockout,
  minutesLeft,
  noFailures,
  resetFailures,
} from './lockout.ts';

const minute = 60_000;

function failTimes(times: number, from: Lockout, now: number): Lockout {
  return Array.from({ length: times }).reduce<Lockout>((lockout) => countFailure(lockout, now), from);
}

test('three wrong in a row lock, two do not', () => {
  expect(isLocked(failTimes(2, noFailures, 0), 0)).toBe(false);
  const locked = failTimes(3, noFailures, 0);
  expect(isLocked(locked, 5 * minute - 1)).toBe(true);
  expect(isLocked(locked, 5 * minute)).toBe(false);
  expect(minutesLeft(locked, minute + 1)).toBe(4);
});

test('an instance whose clock is a little behind names no longer wait than the lock has', () => {
  expect(minutesLeft(failTimes(3, noFailures, 0), -50)).toBe(5);
});

test('each lock is twice as long as the one before, up to a day', () => {
  let lockout = noFailures;
  const lengths = Array.from({ length: 12 }, () => {
    lockout = failTimes(3, lockout, 0);
    return (lockout.locked_until ?? 0) / minute;
  });
  expect(lengths).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440, 1440]);
});

test('a hundred wrong in all lock for good, however long one waits and however often the right one comes between', () => {
  let lockout = noFailures;
  for (let i = 1; i < 100; i++) {
    lockout = resetFailures(countFailure(lockout, 0));
    expect(isLockedForGood(lockout)).toBe(false);
  }
  lockout = countFailure(lockout, 0);
  expect(isLockedForGood(lockout)).toBe(true);
  expect(isLocked(lockout, Number.MAX_SAFE_INTEGER)).toBe(true);
});
