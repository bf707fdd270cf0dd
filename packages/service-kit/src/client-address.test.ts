import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { baseVariables, toEdge } from './base-config.ts';
import { clientAddress, createRawClientAddress, toAddressKey } from './client-address.ts';
import { loadConfig, parseConfig } from './config.ts';
import { createServer } from './create-server.ts';
import { addRateLimit } from './limits.ts';
import { createLogger } from './logger.ts';
import { closeServer, listen } from './run-service.ts';

const schema = z.object(baseVariables({ port: 0 }));

/** A server behind a proxy that appends to X-Forwarded-For, asked over a raw socket. */
async function start(env: Record<string, string>) {
  const edge = toEdge(loadConfig(schema, { TRUST_PROXY_ENABLED: 'true', DATA_DIR: '/nonexistent', ...env }));
  const server = await createServer({
    name: 'test',
    logger: createLogger({ name: 'test', level: 'silent' }),
    ...edge,
    bodyLimit: 100,
    health: async () => ({ healthy: true, body: {} }),
  });
  server.get('/address', async (request) => {
    // What a socket's handshake gets is the same.
    expect(createRawClientAddress(edge.trustProxy)(request.raw)).toBe(clientAddress(request));
    return clientAddress(request);
  });
  await server.register(async (scope) => {
    addRateLimit(scope, { name: 'test', perMinute: 2 });
    scope.get('/limited', async () => 'ok');
  });
  const { port } = new URL(await listen(server, { host: '127.0.0.1', port: 0 }));
  async function ask(path: string, ...forwarded: string[]): Promise<string> {
    const socket = connect(Number(port), '127.0.0.1');
    const lines = forwarded.map((value) => `X-Forwarded-For: ${value}\r\n`).join('');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${lines}Connection: close\r\n\r\n`);
    let reply = '';
    socket.on('data', (data) => {
      reply += String(data);
    });
    await once(socket, 'close');
    return path === '/address' ? (reply.split('\r\n\r\n')[1] ?? '') : (reply.split(' ')[1] ?? '');
  }
  return { ask, [Symbol.asyncDispose]: () => closeServer(server) };
}

test('the address is the one the nearest proxy saw, never the one the caller wrote', async () => {
  await using server = await start({});
  expect(await server.ask('/address', '10.0.0.1, 198.51.100.7')).toBe('198.51.100.7');
  expect(await server.ask('/address', '10.0.0.1', '198.51.100.7')).toBe('198.51.100.7');
  expect(await server.ask('/address', '198.51.100.7:49152')).toBe('198.51.100.7');
  expect(await server.ask('/address', '[2001:db8::1]:49152')).toBe('2001:db8::1');
  for (const nonsense of ['unknown', 'localhost', '999.1.1.1', '_hidden'])
    expect([nonsense, await server.ask('/address', `10.0.0.1, ${nonsense}`)]).not.toEqual([nonsense, '10.0.0.1']);
  expect(await server.ask('/address')).toBe('127.0.0.1');
});

test('a caller who writes a new address each time is still one caller', async () => {
  await using server = await start({});
  const replies = [];
  for (let i = 0; i < 4; i += 1) replies.push(await server.ask('/limited', `10.0.0.${i}, 198.51.100.7`));
  expect(replies).toEqual(['200', '200', '429', '429']);
});

test('two proxies, or proxies by address', async () => {
  await using hops = await start({ TRUST_PROXY_HOPS: '2' });
  expect(await hops.ask('/address', '10.9.9.9, 198.51.100.7, 10.0.0.2')).toBe('198.51.100.7');
  await using cidrs = await start({ TRUST_PROXY_CIDRS: '10.0.0.0/8, 127.0.0.1' });
  expect(await cidrs.ask('/address', '192.0.2.1, 198.51.100.7, 10.0.0.3, 10.0.0.2')).toBe('198.51.100.7');
  await using elsewhere = await start({ TRUST_PROXY_CIDRS: '10.0.0.0/8' });
  expect(await elsewhere.ask('/address', '198.51.100.7')).toBe('127.0.0.1');
  await using off = await start({ TRUST_PROXY_ENABLED: 'false' });
  expect(await off.ask('/address', '198.51.100.7')).toBe('127.0.0.1');
});

test('what is not a list is refused at the start', () => {
  for (const text of ['10.0.0.0/33', 'proxy.example', '10.0.0.0/', '::1/129'])
    expect([text, parseConfig(schema, { TRUST_PROXY_CIDRS: text })]).toEqual([text, { faults: [expect.any(String)] }]);
});

test('an IPv6 client is counted by its /64', () => {
  expect(toAddressKey('2001:db8:0:1:aaaa::1')).toBe(toAddressKey('2001:DB8:0:1::2'));
  expect(toAddressKey('2001:db8::1')).toBe(toAddressKey('2001:0db8:0:0:ffff:ffff:ffff:ffff'));
  expect(toAddressKey('2001:db8:0:2::1')).not.toBe(toAddressKey('2001:db8:0:1::1'));
  expect(toAddressKey('192.0.2.1')).toBe('192.0.2.1');
});

test('a client that left before its request was read has no address', () => {
  expect(clientAddress({ ip: undefined as never, socket: new Socket() })).toBe('unknown');
});
