import { expect, test, vi } from 'vitest';
import { createLimiter } from './limiter.ts';

test('whoever waits too long, or comes when enough wait, is refused; the others run in order', async () => {
  vi.useFakeTimers();
  const limit = createLimiter({ concurrency: 1, maxWaiting: 2, maxWaitMs: 3_000, toError: () => new Error('busy') });
  const ran: string[] = [];
  const held = Promise.withResolvers<void>();
  const first = limit(() => held.promise);
  const late = limit(async () => ran.push('late'));
  const refused = expect(late).rejects.toThrow('busy');
  await vi.advanceTimersByTimeAsync(2_000);
  const next = limit(async () => ran.push('next'));
  await expect(limit(async () => ran.push('more'))).rejects.toThrow('busy');
  await vi.advanceTimersByTimeAsync(1_000);
  await refused;
  const last = limit(async () => ran.push('last'));
  held.resolve();
  await Promise.all([first, next, last]);
  expect(ran).toEqual(['next', 'last']);
  vi.useRealTimers();
});

test('after a task the next one waits as long, where tasks pause', async () => {
  vi.useFakeTimers();
  const limit = createLimiter({ concurrency: 1, maxWaiting: 2, pauses: true, toError: () => new Error('busy') });
  const ran: string[] = [];
  const first = limit(() => new Promise((resolve) => setTimeout(resolve, 100)));
  const next = limit(async () => ran.push('next'));
  await vi.advanceTimersByTimeAsync(100);
  await first;
  await vi.advanceTimersByTimeAsync(90);
  expect(ran).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  await next;
  expect(ran).toEqual(['next']);
  vi.useRealTimers();
});
