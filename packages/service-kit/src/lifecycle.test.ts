import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { shutdownTimeoutMs } from '@palaver/contract/internal';
import { waitFor } from '@palaver/test-kit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createServer } from './create-server.ts';
import { createLogger } from './logger.ts';
import { closeServer, listen } from './run-service.ts';
import type { Server } from './server.ts';

let server: Server;
let url: string;
let healthy: boolean;
let release: () => void;

beforeEach(async () => {
  healthy = true;
  const held = Promise.withResolvers<void>();
  release = held.resolve;
  server = await createServer({
    name: 'test',
    logger: createLogger({ name: 'test', level: 'silent' }),
    trustProxy: false,
    operatorToken: undefined,
    bodyLimit: 1000,
    health: async () => ({ healthy, body: { status: healthy ? 'ok' : 'degraded' } }),
  });
  server.get('/held', async () => {
    await held.promise;
    return { done: true };
  });
  url = await listen(server, { host: '127.0.0.1', port: 0 });
});
afterEach(() => {
  release();
  return closeServer(server);
});

/** One request of a client that keeps its connections. */
async function ask(path: string, agent: Agent) {
  const [response] = await once(get(url + path, { agent }), 'response');
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, connection: response.headers.connection, body: JSON.parse(body) };
}

test('/ready follows /health until the server drains; then both are 503 and replies end their connections', async () => {
  using agent = Object.assign(new Agent({ keepAlive: true }), { [Symbol.dispose]: () => agent.destroy() });
  expect(await ask('/ready', agent)).toEqual({ status: 200, connection: 'keep-alive', body: { status: 'ready' } });
  healthy = false;
  expect(await ask('/ready', agent)).toMatchObject({ status: 503, body: { status: 'unavailable' } });
  healthy = true;
  await server.lifecycle.drain(0);
  const drained = { status: 503, connection: 'close' };
  expect(await ask('/ready', agent)).toEqual({ ...drained, body: { status: 'draining' } });
  expect(await ask('/health', agent)).toEqual({ ...drained, body: { status: 'ok', draining: true } });
  expect(await ask('/nowhere', agent)).toMatchObject({ status: 404, connection: 'close' });
});

test('a connection that never sent a byte does not hold the close up', async () => {
  const { hostname, port } = new URL(url);
  const silent = connect(Number(port), hostname);
  await once(server.server, 'connection');
  const late = new Promise((resolve) => setTimeout(resolve, shutdownTimeoutMs - 1_000, 'late').unref());
  expect(await Promise.race([closeServer(server), late])).toBeUndefined();
  silent.destroy();
});

test.each([
  ['head', 'GET / HTTP/1.1\r\nHost'],
  ['body', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'],
])('a request whose %s does not arrive is dropped at the close, and those in flight are finished', async (_, half) => {
  const { hostname, port } = new URL(url);
  const held = fetch(`${url}/held`);
  await once(server.server, 'request');
  const stalled = connect(Number(port), hostname).on('error', () => {});
  stalled.write(half);
  const [accepted] = await once(server.server, 'connection');
  await waitFor('the half', () => accepted.bytesRead === half.length);
  const closing = closeServer(server);
  await once(stalled, 'close');
  release();
  expect(await (await held).json()).toEqual({ done: true });
  await closing;
});

test('a request in flight is finished, and one on a connection that is still open is answered', async () => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const [[accepted]] = await Promise.all([
    once(server.server, 'connection'),
    once(server.server, 'request'),
    socket.write(request('/held')),
  ]);
  const closing = closeServer(server);
  await expect(fetch(url)).rejects.toThrow();
  socket.write(request('/nowhere')); // pipelined behind the first
  await waitFor('the second', () => accepted.bytesRead === request('/held').length + request('/nowhere').length);
  release();
  await Promise.all([closing, once(socket, 'close')]);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
  expect(text.match(/connection: close/gi)).toHaveLength(1);
});
