import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { brotliCompressSync } from 'node:zlib';
import { closeServer, createLogger, createServer as createService, listen, loadConfig } from '@palaver/service-kit';
import { afterEach, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createConsoleApp } from '../src/app.ts';
import { consoleConfigSchema } from '../src/config.ts';
import { loadFiles, type Page } from '../src/web-build/create-web-build.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const page: Page = { current: () => ({ status: 'building' }), close: async () => {} };

async function startConsole(env: Record<string, string>, shown: Page = page): Promise<string> {
  const config = loadConfig(consoleConfigSchema, { PORT: '0', ...env });
  const server = await createConsoleApp({ config, logger, page: shown });
  ends.push(() => closeServer(server));
  return listen(server, { host: config.HOST, port: 0 });
}

async function startUpstream(handle: Parameters<typeof createServer>[1]): Promise<{ url: string; server: Server }> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A real service whose operators' routes are guarded as everywhere. */
async function startService(): Promise<string> {
  const service = await createService({
    name: 'ussd',
    logger,
    trustProxy: false,
    operatorToken: undefined,
    bodyLimit: 1024,
    health: async () => ({ healthy: true, body: { status: 'ok' } }),
  });
  ends.push(() => closeServer(service));
  return listen(service, { host: '127.0.0.1', port: 0 });
}

const metrics = '/api/ussd-gateway/metrics';

/** A request with a Host header of its own, which `fetch` does not allow. */
async function statusFor(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const sent = request(url, { headers }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

test('without a token the operators’ routes open only to a browser that came directly from this machine', async () => {
  const url = await startConsole({ USSD_URL: await startService(), HOST: '0.0.0.0' });
  const local = url.replace('0.0.0.0', '127.0.0.1');
  expect((await fetch(local + metrics)).status).toBe(200);
  for (const name of ['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'Via']) {
    expect([name, (await fetch(local + metrics, { headers: { [name]: '10.0.0.9' } })).status]).toEqual([name, 401]);
  }
  const { port } = new URL(url);
  for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
    expect([host, await statusFor(local + metrics, { host })]).toEqual([host, 200]);
  }
  // A page elsewhere whose name was made to point to this machine.
  for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example']) {
    expect([host, await statusFor(local + metrics, { host })]).toEqual([host, 401]);
  }
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === 'IPv4' && !entry.internal);
  if (outside) expect((await fetch(`http://${outside.address}:${port}${metrics}`)).status).toBe(401);
});

test('a request is forwarded unchanged: method, path byte for byte, body, request id; redirects stay under the console’s path', async () => {
  const seen: { method?: string; url?: string; body: string; id: unknown; hop: unknown }[] = [];
  const upstream = await startUpstream(async (message, reply) => {
    let body = '';
    for await (const chunk of message) body += chunk;
    const { method = '', url = '', headers } = message;
    seen.push({ method, url, body, id: headers['x-request-id'], hop: headers['x-private'] });
    reply.writeHead(301, { location: '/clean', 'x-cache': 'hit' }).end();
  });
  const url = await startConsole({ GATEWAY_URL: upstream.url });
  const answer = await fetch(`${url}/api/gateway/ixo//entity/did:x%3A1?a=%20b&a=2`, {
    method: 'PUT',
    body: 'some body',
    headers: { 'x-request-id': 'mine-1' },
    redirect: 'manual',
  });
  expect(seen).toEqual([
    { method: 'PUT', url: '/ixo//entity/did:x%3A1?a=%20b&a=2', body: 'some body', id: 'mine-1', hop: undefined },
  ]);
  expect(answer.status).toBe(301);
  expect(answer.headers.get('location')).toBe('/api/gateway/clean');
  expect(answer.headers.get('x-cache')).toBe('hit');
  expect(answer.headers.get('x-request-id')).toBe('mine-1');
});

test('a stream arrives piece by piece, and a browser that leaves ends it at the service', async () => {
  const left = Promise.withResolvers<void>();
  const next = Promise.withResolvers<void>();
  const upstream = await startUpstream(async (_message, reply) => {
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.write('data: one\n\n');
    reply.once('close', () => left.resolve());
    await next.promise;
    reply.write('data: two\n\n');
  });
  const url = await startConsole({ AGENT_URL: upstream.url });
  const leaving = new AbortController();
  const answer = await fetch(`${url}/api/agent/messages/x`, { method: 'POST', signal: leaving.signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe('data: one\n\n');
  next.resolve();
  expect((await reader?.read())?.value).toBe('data: two\n\n');
  leaving.abort();
  await left.promise;
});

test('a browser that leaves before the answer ends the wait at the service', async () => {
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const upstream = await startUpstream((_message, reply) => {
    reply.once('close', () => left.resolve());
    arrived.resolve();
  });
  const url = await startConsole({ AGENT_URL: upstream.url });
  const leaving = new AbortController();
  const asked = fetch(`${url}/api/agent/runs/x`, { signal: leaving.signal }).catch(() => undefined);
  await arrived.promise;
  leaving.abort();
  await asked;
  await left.promise;
});

test('a body larger than what the console reads itself passes', async () => {
  const upstream = await startUpstream(async (message, reply) => {
    let size = 0;
    for await (const chunk of message) size += chunk.length;
    reply.end(String(size));
  });
  const url = await startConsole({ AGENT_URL: upstream.url });
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
    const init = { method: 'POST', body: 'x'.repeat(200_000), headers: { 'content-type': type } };
    expect(await (await fetch(`${url}/api/agent/x`, init)).text()).toBe('200000');
  }
});

test('sockets are joined both ways, carry the same rule, and only on Socket.IO’s path', async () => {
  const upstream = await startUpstream(() => {});
  const seen: IncomingMessage[] = [];
  const sockets = new WebSocketServer({ server: upstream.server });
  sockets.on('connection', (socket, message) => {
    seen.push(message);
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  const url = await startConsole({ AGENT_URL: upstream.url });
  const open = (path: string, headers = {}) => new WebSocket(url.replace('http', 'ws') + path, { headers });
  const near = open('/socket.io/?sessionId=1');
  await once(near, 'open');
  near.send('hello');
  expect(String((await once(near, 'message'))[0])).toBe('hello');
  const far = open('/socket.io/', { 'x-forwarded-for': '10.0.0.9' });
  await once(far, 'open');
  far.send('hello');
  await once(far, 'message');
  expect(seen.map(({ url: path, headers }) => [path, headers['x-forwarded-for']])).toEqual([
    ['/socket.io/?sessionId=1', undefined],
    ['/socket.io/', '127.0.0.1'],
  ]);
  const ended = once([...sockets.clients][0] as WebSocket, 'close');
  near.terminate();
  await ended;
  for (const [path, status] of [
    ['/elsewhere', 404],
    ['/api/agent/socket.io/', 400],
  ] as const) {
    const [, refused] = (await once(
      open(path).on('error', () => {}),
      'unexpected-response',
    )) as [unknown, IncomingMessage];
    expect([path, refused.statusCode]).toEqual([path, status]);
  }
});

test('a service that is unreachable is a 503 with the error body', async () => {
  const url = await startConsole({ USSD_URL: 'http://127.0.0.1:1' });
  const answer = await fetch(`${url}/api/ussd-gateway/health`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    statusCode: 503,
    code: 'UNAVAILABLE',
    message: 'The USSD gateway cannot be reached.',
  });
});

test('while the page is built the server says so; then it serves it with a policy, compressed and cached by content', async () => {
  const url = await startConsole({});
  const early = await fetch(url);
  expect(early.status).toBe(503);
  expect(await early.text()).toContain('being built');
  expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok', page: 'building' });

  const files = loadFiles(import.meta.dirname);
  const [name = ''] = files.keys();
  const file = files.get(name);
  if (!file) throw new Error('no file');
  const shown = new Map([
    ['/index.html', { ...file, type: 'text/html; charset=utf-8' }],
    [
      '/assets/a-1.js',
      {
        ...file,
        compressed: { ...file.compressed, br: brotliCompressSync(file.body) },
        type: 'text/javascript; charset=utf-8',
        isImmutable: true,
      },
    ],
  ]);
  const ready = await startConsole({}, { current: () => ({ status: 'ready', files: shown }), close: async () => {} });
  for (const path of ['/', '/phone', '/chat', '/explorer', '/operations']) {
    const answer = await fetch(ready + path);
    expect([path, answer.status]).toEqual([path, 200]);
    expect(answer.headers.get('content-security-policy')).toContain("script-src 'self';");
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(await answer.text()).toBe(file.body.toString());
  }
  const asset = await fetch(`${ready}/assets/a-1.js`, { headers: { 'accept-encoding': 'gzip, br' } });
  expect(asset.headers.get('content-encoding')).toBe('br');
  expect(await asset.text()).toBe(file.body.toString());
  expect(asset.headers.get('cache-control')).toContain('immutable');
  const again = await fetch(`${ready}/assets/a-1.js`, {
    headers: { 'if-none-match': asset.headers.get('etag') ?? '' },
  });
  expect(again.status).toBe(304);
  expect((await fetch(`${ready}/assets/none.js`)).status).toBe(404);
  expect((await fetch(`${ready}/assets/%2e%2e/package.json`)).status).toBe(404);
});

test('the page does not have the addresses of the services', async () => {
  const url = await startConsole({});
  expect((await fetch(`${url}/config.json`)).status).toBe(404);
});

test('reads from a gated query gateway with its key, which goes to no other service and with no write', async () => {
  const seen: string[] = [];
  const { url: gateway } = await startUpstream(({ method, url: path, headers }, response) => {
    seen.push(`${method} ${path} ${headers['x-api-key'] ?? 'no key'} ${headers['x-ucan-delegation'] ?? 'no token'}`);
    response.end('{}');
  });
  const { url: agent } = await startUpstream(({ headers }, response) => {
    seen.push(`agent ${headers['x-api-key'] ?? 'no key'}`);
    response.end('{}');
  });
  const credentials = { GATEWAY_API_KEY: 'ours', GATEWAY_UCAN: 'token', GATEWAY_PREFIX: '/protocol' };
  const url = await startConsole({ GATEWAY_URL: gateway, AGENT_URL: agent, ...credentials });
  await fetch(`${url}/api/gateway/ixo/entity`);
  await fetch(`${url}/api/gateway/ixo/entity`, { headers: { 'x-api-key': 'theirs' } });
  await fetch(`${url}/api/gateway/cosmos/tx/v1beta1/txs`, { method: 'POST', body: '{}' });
  await fetch(`${url}/api/agent/health`);
  expect(seen).toEqual([
    'GET /protocol/entity ours token',
    'GET /protocol/entity theirs token',
    'POST /cosmos/tx/v1beta1/txs no key no token',
    'agent no key',
  ]);
});
