import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type LookupFunction } from 'node:net';
import { startDnsServer, waitFor } from '@palaver/test-kit';
import { describe, expect, it, test } from 'vitest';
import { createHostLookup, isPublicAddress, openPublic } from './open-public.ts';

it('a name whose addresses all refuse fails with a cause', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const lookup: LookupFunction = (_name, _options, callback) =>
    callback(
      null,
      ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })),
    );
  const asked = openPublic(new URL(`http://inner.example:${port}`), {
    signal: AbortSignal.timeout(10_000),
    isAllowed: true,
    lookup,
  });
  await expect(asked).rejects.toThrow('ECONNREFUSED');
});

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

describe('isPublicAddress', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '172.15.0.1',
    '172.32.0.1',
    '198.20.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450::1',
  ])('%s is', (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '192.0.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd12::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'localhost',
    '127.1',
    '',
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false));
});
