import { lookup } from 'node:dns/promises';
import { startDnsServer, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createHostLookup } from './host-lookup.ts';

const never = new AbortController().signal;

async function look(hostname: string, servers: string[], signal = never): Promise<unknown> {
  return await new Promise((resolve, reject) =>
    createHostLookup({ servers, signal })(hostname, { all: true }, (error, found) =>
      error ? reject(error) : resolve(found),
    ),
  );
}

test('finds the addresses of a name', async () => {
  await using server = await startDnsServer(() => '192.0.2.9');
  expect(await look('a.example', [server.address])).toEqual([{ address: '192.0.2.9', family: 4 }]);
  expect(server.names()).toEqual(['a.example']);
});

test('a name server that never answers ends in an error, and an abort ends it at once', async () => {
  await using server = await startDnsServer();
  const stop = new AbortController();
  const work = expect(look('b.example', [server.address], stop.signal)).rejects.toThrow();
  await waitFor('the question', () => server.names().length > 0);
  stop.abort();
  await work;
  await expect(look('c.example', [server.address])).rejects.toThrow();
});

test('a hundred names without an answer leave the lookups of the process alone', async () => {
  await using server = await startDnsServer();
  const stop = new AbortController();
  const stuck = Array.from({ length: 100 }, (_, index) => look(`n${index}.example`, [server.address], stop.signal));
  await waitFor('all questions', () => server.names().length === 100);
  const { address } = await lookup('localhost', { family: 4 });
  expect(address).toBe('127.0.0.1');
  stop.abort();
  expect((await Promise.allSettled(stuck)).every(({ status }) => status === 'rejected')).toBe(true);
});
