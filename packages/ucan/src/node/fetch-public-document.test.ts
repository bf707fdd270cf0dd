import { once } from 'node:events';
import { type AddressInfo, createServer, type LookupFunction, type Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fetchPublicDocument } from './fetch-public-document.ts';

let server: Server;
let port: number;
let connections: number;

beforeAll(async () => {
  server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterAll(() => server.close());

beforeEach(() => {
  connections = 0;
});

/** A name server that answers with the given addresses, whatever the name. */
function answering(...addresses: string[]): LookupFunction {
  return (_name, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
}

async function fetchFrom(host: string, allowPrivate: boolean, lookup?: LookupFunction): Promise<string | undefined> {
  const url = `https://${host}:${port}/.well-known/did.json`;
  return (await fetchPublicDocument({ url, timeoutMs: 2_000, allowPrivate }, lookup)).error?.message;
}

describe('a private address', () => {
  it.each([['127.0.0.1'], ['::1'], ['::ffff:127.0.0.1'], ['8.8.8.8', '127.0.0.1']])(
    'is not reached through a name that has %s',
    async (...addresses) => {
      expect(await fetchFrom('public.example', false, answering(...addresses))).toContain('no connection');
      expect(connections).toBe(0);
    },
  );

  it.each(['127.0.0.1', '[::1]', '169.254.169.254', '10.0.0.1', '[::ffff:127.0.0.1]'])(
    'is not reached as %s',
    async (host) => {
      expect(await fetchFrom(host, false)).toContain('no public address');
      expect(connections).toBe(0);
    },
  );

  it('is reached when it is allowed', async () => {
    await fetchFrom('inner.example', true, answering('127.0.0.1'));
    expect(connections).toBe(1);
  });

  it('a name that does not exist is a plain failure', async () => {
    const failing: LookupFunction = (_name, _options, callback) => callback(new Error('ENOTFOUND'), '', 0);
    expect(await fetchFrom('nowhere.example', false, failing)).toContain('no connection');
  });
});
