import { expect, test } from 'vitest';
import { createKeyedQueue } from './handle-request.ts';

test('tasks of one key run one after the other, those of others meanwhile', async () => {
  const queue = createKeyedQueue({ maxWaiting: 10 });
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue('a', async () => {
    await gate.promise;
    order.push('a1');
  });
  const second = queue('a', async () => order.push('a2'));
  await queue('b', async () => order.push('b'));
  gate.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(['b', 'a1', 'a2']);
});

test('a task that fails does not hold the next one up, and its error is its own', async () => {
  const queue = createKeyedQueue({ maxWaiting: 10 });
  const failed = queue('a', async () => {
    throw new Error('no');
  });
  const next = queue('a', async () => 'yes');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('yes');
});

test('more than it takes are refused', async () => {
  const queue = createKeyedQueue({ maxWaiting: 2 });
  const gate = Promise.withResolvers<string>();
  const waiting = [queue('a', () => gate.promise), queue('a', () => gate.promise)];
  await expect(queue('a', async () => 'x')).rejects.toThrow('too many');
  gate.resolve('done');
  expect(await Promise.all(waiting)).toEqual(['done', 'done']);
  expect(await queue('a', async () => 'again')).toBe('again');
});
