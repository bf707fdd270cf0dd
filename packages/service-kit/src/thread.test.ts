import { expect, test } from 'vitest';
import { startThread } from './thread.ts';

interface Call {
  id: number;
  /** How long it computes or waits. */
  ms: number;
  isWaiting?: boolean;
}

const program = `
import { parentPort } from 'node:worker_threads';
parentPort.on('message', ({ id, ms, isWaiting }) => {
  if (isWaiting) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  else for (const end = performance.now() + ms; performance.now() < end; );
  parentPort.postMessage({ id });
});
`;

function start() {
  const file = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
  return startThread<Call, { id: number }>(file, { what: 'a sum', maxMemoryMb: 64, maxWaiting: 10 });
}

test('a call that waits, as on a busy machine, may take longer than it may compute', async () => {
  const thread = start();
  const limitMs = 1_000;
  expect(await thread.send({ ms: 3 * limitMs, isWaiting: true }, limitMs)).toEqual({ id: 1 });
  expect(await thread.send({ ms: 1 }, limitMs)).toEqual({ id: 2 });
  await thread.stop();
});

test('a call that computes without end is stopped with its thread', async () => {
  const thread = start();
  await expect(thread.send({ ms: Number.POSITIVE_INFINITY }, 1_000)).rejects.toThrow('a sum took too long');
  expect(thread.isUsable()).toBe(false);
});

test('a call that waits without end is stopped too', async () => {
  const thread = start();
  const waiting = thread.send({ ms: Number.POSITIVE_INFINITY, isWaiting: true }, 300);
  await expect(waiting).rejects.toThrow('a sum took too long');
});

test('a call that fills the memory is stopped with its thread, and the process is not', async () => {
  const filling = `
import { parentPort } from 'node:worker_threads';
parentPort.on('message', () => {
  const kept = [];
  for (;;) kept.push(Array.from({ length: 1000 }, (_, i) => ({ i })));
});
`;
  const file = new URL(`data:text/javascript,${encodeURIComponent(filling)}`);
  const thread = startThread<Call, { id: number }>(file, { what: 'a sum', maxMemoryMb: 256, maxWaiting: 10 });
  await expect(thread.send({ ms: 1 }, 60_000)).rejects.toThrow(/^a sum failed its thread: /);
});
