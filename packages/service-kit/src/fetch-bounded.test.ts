import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startEndlessServer } from '@palaver/test-kit';
import { expect, it } from 'vitest';
import { AnswerTooLargeError, fetchBounded, limitResponses } from './fetch-bounded.ts';

async function startServer(answer: Parameters<typeof createServer>[1]) {
  const server = createServer(answer as Parameters<typeof createServer>[0]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => void server.close().closeAllConnections(),
  };
}

it('an answer up to the limit is whole, one byte more is an error with its status', async () => {
  using server = await startServer((_, response) => response.writeHead(418, { 'x-own': 'yes' }).end('12345'));
  const response = await fetchBounded(server.url, { timeoutMs: 5_000, maxBytes: 5 });
  expect([response.status, response.headers.get('x-own'), await response.text()]).toEqual([418, 'yes', '12345']);
  await expect(fetchBounded(server.url, { timeoutMs: 5_000, maxBytes: 4 })).rejects.toMatchObject({
    name: 'AnswerTooLargeError',
    status: 418,
  });
});

it('an answer without end is left, whole or read while it comes', async () => {
  await using server = await startEndlessServer();
  await expect(fetchBounded(server.url, { timeoutMs: 5_000 })).rejects.toThrow(AnswerTooLargeError);
  const streamed = await limitResponses(undefined, 1_000_000)(server.url);
  await expect(streamed.text()).rejects.toThrow('larger than 1000000 bytes');
  expect(server.sentBytes()).toBeLessThan(32_000_000);
});

it('the time holds for the body too, and a signal ends a request sooner', async () => {
  using server = await startServer((_, response) => response.writeHead(200).write('half'));
  await expect(fetchBounded(server.url, { timeoutMs: 50 })).rejects.toMatchObject({ name: 'TimeoutError' });
  const signal = AbortSignal.abort();
  await expect(fetchBounded(server.url, { timeoutMs: 60_000, signal })).rejects.toMatchObject({ name: 'AbortError' });
});

it('redirects are refused, unless the caller reads them', async () => {
  using server = await startServer((_, response) => response.writeHead(302, { location: '/other' }).end());
  await expect(fetchBounded(server.url, { timeoutMs: 5_000 })).rejects.toThrow();
  const kept = await fetchBounded(server.url, { timeoutMs: 5_000, redirect: 'manual' });
  expect(kept.status).toBe(302);
});

it('an answer without a body and one with a strange status are no crash', async () => {
  using empty = await startServer((_, response) => response.writeHead(204).end());
  expect((await fetchBounded(empty.url, { timeoutMs: 5_000 })).status).toBe(204);
  using strange = await startServer((_, response) => response.writeHead(799).end('x'));
  await expect(fetchBounded(strange.url, { timeoutMs: 5_000 })).rejects.toThrow(RangeError);
});
