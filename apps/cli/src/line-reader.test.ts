import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { setImmediate as settle } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLineReader } from './line-reader.ts';

function openReader(terminal: boolean) {
  const input = new PassThrough();
  const lines = createInterface({ input, output: new PassThrough().resume(), terminal });
  return { input, readLine: createLineReader(lines, terminal) };
}

test('in a terminal, what is typed to a withdrawn question does not answer the next', async () => {
  const { input, readLine } = openReader(true);
  const withdrawn = new AbortController();
  const first = readLine('first? ', withdrawn.signal);
  input.write('y');
  await settle();
  withdrawn.abort();
  expect(await first).toBeUndefined();
  input.write('y\r');
  await settle();
  const second = readLine('second? ');
  input.write('n\r');
  expect(await second).toBe('n');
});

test('in a terminal, a message typed during an answer is kept', async () => {
  const { input, readLine } = openReader(true);
  input.write('hello\r');
  await settle();
  expect(await readLine()).toBe('hello');
});

test('elsewhere lines are sent ahead, and end with the input', async () => {
  const { input, readLine } = openReader(false);
  input.end('first\ny\nlast');
  await settle();
  expect([await readLine(), await readLine('ok? '), await readLine(), await readLine()]).toEqual([
    'first',
    'y',
    'last',
    undefined,
  ]);
});
