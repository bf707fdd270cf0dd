import { expect, test } from 'vitest';
import { createWaiters } from './queue.ts';

const { signal } = new AbortController();

// Two messages that are sent together may be numbered in one order and arrive here in the other.
test('a run starts when the database says so, whatever the order in which runs began to wait', async () => {
  const waiters = createWaiters({ pollMs: 1_000 });
  let place = 1;
  const order: number[] = [];
  const wait = (number: number) =>
    waiters.wait('s', signal, async () => {
      if (number !== place) return undefined;
      order.push(number);
      return number;
    });
  const ends = [wait(3), wait(1), wait(2)].map(async (started) => {
    await started;
    place += 1;
    waiters.wake('s');
  });
  await Promise.all(ends);
  expect(order).toEqual([1, 2, 3]);
});

test('a run that is cancelled waits no longer', async () => {
  const waiters = createWaiters({ pollMs: 1_000 });
  const controller = new AbortController();
  const waiting = waiters.wait('s', controller.signal, async () => undefined);
  controller.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
});
