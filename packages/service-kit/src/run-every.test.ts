import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { runEvery } from './run-every.ts';

test('rounds follow each other, a row of faults is reported once, and stop waits for the last round', async () => {
  let atWork = 0;
  let rounds = 0;
  const onFault = vi.fn();
  const working = runEvery({
    everyMs: 1,
    async work() {
      atWork += 1;
      expect(atWork).toBe(1);
      await sleep(2);
      atWork -= 1;
      rounds += 1;
      if (rounds < 3) throw new Error('away');
      if (rounds === 4) throw new Error('away again');
    },
    onFault,
  });
  await vi.waitFor(() => expect(rounds).toBeGreaterThan(5), { timeout: 10_000 });
  await working.stop();
  const after = rounds;
  expect(atWork).toBe(0);
  await sleep(20);
  expect(rounds).toBe(after);
  expect(onFault.mock.calls.map(([error]) => error.message)).toEqual(['away', 'away again']);
});

test('a round may call the next one at once, and 0 leaves the work to others', async () => {
  let rounds = 0;
  const busy = runEvery({
    everyMs: 3_600_000,
    firstMs: 0,
    async work(setNext) {
      rounds += 1;
      if (rounds < 4) setNext(0);
    },
    onFault() {},
  });
  const never = runEvery({
    everyMs: 0,
    firstMs: 0,
    work: () => Promise.reject(new Error('worked')),
    onFault: expect.fail,
  });
  await vi.waitFor(() => expect(rounds).toBe(4), { timeout: 10_000 });
  await Promise.all([busy.stop(), never.stop()]);
});
