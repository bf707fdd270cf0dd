// Requests that two parsers may cut in different places, sent over raw sockets at the console. What is in a body must
// never arrive at the service behind as a request of its own.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, createLogger, createServer as createService, listen, loadConfig } from '@palaver/service-kit';
import { afterEach, expect, test } from 'vitest';
import { createConsoleApp } from '../src/app.ts';
import { consoleConfigSchema } from '../src/config.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A console before a real service, which notes every request that reaches it. */
async function start() {
  const service = await createService({
    name: 'ussd',
    logger,
    trustProxy: false,
    operatorToken: undefined,
    bodyLimit: 1024,
    health: async () => ({ healthy: true, body: { status: 'ok' } }),
  });
  const arrived: string[] = [];
  service.addHook('onRequest', async ({ method, url }) => {
    arrived.push(`${method} ${url}`);
  });
  service.post('/credits', { onRequest: service.operatorGuard }, async () => 'booked');
  ends.push(() => closeServer(service));
  const url = await listen(service, { host: '127.0.0.1', port: 0 });
  const config = loadConfig(consoleConfigSchema, { PORT: '0', USSD_URL: url, AGENT_URL: url });
  const server = await createConsoleApp({
    config,
    logger,
    page: { current: () => ({ status: 'building' }), close: async () => {} },
  });
  ends.push(() => closeServer(server));
  const { port } = new URL(await listen(server, { host: '127.0.0.1', port: 0 }));
  return { port: Number(port), arrived };
}

/** A request that is not whole, as the service reads it, gets no reply. */
const silentMs = 150;

/** Writes bytes as they are and gives everything that came back until the other side ended, or for a moment. */
const send = (port: number, ...lines: string[]) => exchange(port, lines, sleep(silentMs));

/** The same, until the other side ended. */
const sendToEnd = (port: number, ...lines: string[]) => exchange(port, lines);

async function exchange(port: number, lines: string[], limit?: Promise<unknown>): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let reply = '';
  socket.on('data', (chunk) => {
    reply += String(chunk);
  });
  socket.on('error', () => {});
  socket.write(lines.join('\r\n'));
  const ended = once(socket, 'close');
  await (limit ? Promise.race([ended, limit]) : ended);
  socket.destroy();
  return reply;
}

const smuggled = 'POST /credits HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n';
const chunk = `${Buffer.byteLength(smuggled).toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
const length = `Content-Length: ${Buffer.byteLength(smuggled)}`;
const chunked = 'Transfer-Encoding: chunked';

/** Headers and body of each attack; the request line is put in front. */
const attacks: [string, string[]][] = [
  ['a chunked body', [chunked, '', chunk]],
  ['a body with its length', [length, '', smuggled]],
  ['Connection: content-length', [length, 'Connection: content-length', '', smuggled]],
  ['Connection: keep-alive, Content-Length', [length, 'Connection: keep-alive, Content-Length', '', smuggled]],
  ['Connection: transfer-encoding', [chunked, 'Connection: transfer-encoding', '', chunk]],
  ['Connection: host, x-request-id', [length, 'Connection: host, x-request-id, content-type', '', smuggled]],
  ['length and chunks', [length, chunked, '', chunk]],
  ['chunks and length', [chunked, 'Content-Length: 4', '', chunk]],
  ['two lengths', ['Content-Length: 0', length, '', smuggled]],
  ['a list of lengths', [`Content-Length: 0, ${Buffer.byteLength(smuggled)}`, '', smuggled]],
  ['a signed length', ['Content-Length: +0', '', smuggled]],
  ['a folded header', ['X-A: b', ` ${chunked}`, length, '', smuggled]],
  ['a folded Transfer-Encoding', ['Transfer-Encoding:', ' chunked', '', chunk]],
  ['a space before the colon', ['Transfer-Encoding : chunked', length, '', chunk]],
  ['an unknown coding', ['Transfer-Encoding: xchunked', '', chunk]],
  ['chunked twice', ['Transfer-Encoding: chunked, chunked', '', chunk]],
  ['a tab before chunked', ['Transfer-Encoding:\tchunked', '', chunk]],
  ['a bare line feed', ['X-A: b\nTransfer-Encoding: chunked', length, '', chunk]],
  ['an upgrade with a body', [length, 'Connection: Upgrade, content-length', 'Upgrade: websocket', '', smuggled]],
  ['an upgrade with chunks', [chunked, 'Connection: Upgrade', 'Upgrade: websocket', '', chunk]],
  ['Expect', [length, 'Expect: 100-continue', 'Connection: content-length', '', smuggled]],
];

for (const [name, lines] of attacks) {
  test(`${name}: no request hides in the body of another`, async () => {
    const { port, arrived } = await start();
    const hidden: string[] = [];
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'TRACE', 'PROPFIND']) {
      const head = (path: string) => [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`];
      await Promise.all([
        send(port, ...head('/api/ussd-gateway/health'), ...lines),
        send(port, ...head('/socket.io/?EIO=4'), ...lines),
      ]);
      if (arrived.some((request) => request.includes('/credits'))) hidden.push(method);
      arrived.splice(0);
      const mine = await fetch(`http://127.0.0.1:${port}/api/ussd-gateway/health`, {
        headers: { 'x-request-id': `${method}-mine` },
      });
      expect(await mine.json()).toEqual({ status: 'ok' });
      expect(mine.headers.get('x-request-id')).toBe(`${method}-mine`);
    }
    expect(hidden).toEqual([]);
  });
}

test('a method that has no body gets 400 for one, and the connection ends', async () => {
  const { port, arrived } = await start();
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) {
    const request = [`${method} /api/ussd-gateway/health HTTP/1.1`, `Host: 127.0.0.1:${port}`];
    for (const body of [
      [chunked, '', chunk],
      [length, '', smuggled],
    ]) {
      const reply = await sendToEnd(port, ...request, ...body);
      expect([method, reply.split('\r\n')[0]]).toEqual([method, 'HTTP/1.1 400 Bad Request']);
      expect(reply.toLowerCase()).toContain('connection: close');
      expect(reply.match(/HTTP\/1\.1/g)).toHaveLength(1);
    }
    const empty = await sendToEnd(port, ...request, 'Content-Length: 0', 'Connection: close', '', '');
    expect([method, empty.split('\r\n')[0]]).not.toEqual([method, 'HTTP/1.1 400 Bad Request']);
  }
  expect(arrived.filter((request) => request.includes('/credits'))).toEqual([]);
});

test('an upgrade behind a request that is not answered yet ends its connection alone', async () => {
  const { port } = await start();
  const upgrade = ['Connection: upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAA'];
  const host = `Host: 127.0.0.1:${port}`;
  const first = ['GET /api/ussd-gateway/health HTTP/1.1', host, '', ''];
  await sendToEnd(port, ...first.slice(0, -1), 'GET /api/agent/socket.io/ HTTP/1.1', host, ...upgrade, '', '');
  expect((await fetch(`http://127.0.0.1:${port}/api/ussd-gateway/health`)).status).toBe(200);
});
