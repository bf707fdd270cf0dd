import { afterEach, expect, test, vi } from 'vitest';
import { atLeastPace } from './user-data.ts';

afterEach(() => vi.useRealTimers());

test('an export is given up where its reader takes less than 64 KiB in a minute', async () => {
  vi.useFakeTimers();
  const giveUp = vi.fn();
  const pieces = atLeastPace(
    (async function* () {
      yield 'x'.repeat(10_000_000);
    })(),
    giveUp,
  );
  for (let count = 0; count < 40; count += 1) {
    expect((await pieces.next()).value).toHaveLength(16 * 1024);
    vi.advanceTimersByTime(14_000);
  }
  expect(giveUp).not.toHaveBeenCalled();
  for (let count = 0; count < 4; count += 1) {
    await pieces.next();
    vi.advanceTimersByTime(15_500);
  }
  expect(giveUp).toHaveBeenCalledOnce();
  await pieces.return(undefined);
  expect(vi.getTimerCount()).toBe(0);
});
