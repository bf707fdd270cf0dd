import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type ErrorBody } from '@palaver/contract';
import { waitFor } from '@palaver/test-kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createServer, type ServerOptions } from './create-server.ts';
import { createLogger } from './logger.ts';
import { closeServer, listen } from './run-service.ts';
import type { Server } from './server.ts';

const lines: Record<string, unknown>[] = [];
const logger = createLogger({
  name: 'test',
  level: 'info',
  destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
});

let server: Server;
let url: string;
let healthy: boolean;

async function start(options: Partial<ServerOptions> = {}, change?: (server: Server) => void): Promise<void> {
  server = await createServer({
    name: 'test',
    logger,
    trustProxy: false,
    operatorToken: undefined,
    bodyLimit: 1000,
    health: async () => ({ healthy, body: { status: healthy ? 'ok' : 'degraded' } }),
    ...options,
  });
  server.post(
    '/echo',
    { schema: { body: z.object({ list: z.array(z.object({ name: z.string() })) }) } },
    async ({ body }) => body,
  );
  server.post('/maybe', async ({ body }) => ({ got: body ?? null }));
  server.get('/boom', async () => {
    throw new Error('the database password is hunter2');
  });
  server.get('/pay', async () => {
    throw new AppError('PAYMENT_REQUIRED', 'Pay first', { details: { claimIds: ['c1'] } });
  });
  change?.(server);
  url = await listen(server, { host: '127.0.0.1', port: 0 });
}

beforeEach(() => {
  healthy = true;
  lines.length = 0;
});
afterEach(() => closeServer(server));

const post = (path: string, body: string, type = 'application/json') =>
  fetch(url + path, { method: 'POST', body, headers: { 'content-type': type } });

/** The reply to text that no client library sends. */
async function sendRaw(text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  const [reply] = await once(socket, 'data');
  socket.destroy();
  return String(reply);
}

test.each([
  ['two Host headers', 'GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n', 400],
  ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: localhost\r\n\r\n', 405],
])('%s gets a reply', async (_name, text, status) => {
  await start();
  expect(await sendRaw(text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

// Node takes its own listener from a socket that it hands over, and a fault that nobody listens to ends the process.
test.each([
  'CONNECT a:443 HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
  'no HTTP\r\n\r\n',
])('a client that resets its connection after %j ends nothing', async (text) => {
  await start({}, (server) =>
    server.server.on('upgrade', (_request, socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')),
  );
  const port = Number(new URL(url).port);
  for (let pause = 0; pause < 40; pause += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write(text);
    await sleep(pause / 10);
    socket.resetAndDestroy();
  }
  await sleep(50);
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test('a connection has Node’s own listeners alone: a second one delays the collection of what requests leave behind', async () => {
  let socket: Socket | undefined;
  await start({}, (server) =>
    server.get('/socket', async ({ raw }) => {
      socket = raw.socket;
      return 'ok';
    }),
  );
  expect(await (await fetch(`${url}/socket`)).text()).toBe('ok');
  expect(['close', 'error'].map((event) => socket?.listenerCount(event))).toEqual([1, 1]);
});

describe('request ids', () => {
  test('the client’s is echoed and logged, on errors and unknown routes too', async () => {
    await start();
    for (const path of ['/health', '/boom', '/nowhere', '/pay', '/%zz']) {
      const reply = await fetch(url + path, { headers: { 'x-request-id': `id of ${path}` } });
      await reply.text();
      expect(reply.headers.get('x-request-id'), path).toBe(`id of ${path}`);
    }
    for (const path of ['/boom', '/nowhere', '/pay']) {
      await waitFor('the log line', () =>
        lines.some((line) => line.requestId === `id of ${path}` && line.msg === 'request'),
      );
    }
  });

  test.each([
    ['too long', 'x'.repeat(129)],
    ['not ASCII', 'caf\xe9'],
  ])('one that is %s is replaced', async (_why, id) => {
    await start();
    const reply = await fetch(`${url}/health`, { headers: { 'x-request-id': id } });
    expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('errors have the contract’s body', () => {
  const cases: [string, () => Promise<Response>, number, string][] = [
    ['an unknown route', () => fetch(`${url}/nowhere?pin=1234`), 404, 'NOT_FOUND'],
    ['a known path with another method', () => fetch(`${url}/echo`, { method: 'DELETE' }), 404, 'NOT_FOUND'],
    ['malformed JSON', () => post('/echo', '{"list": ['), 400, 'BAD_REQUEST'],
    ['a wrong content type', () => post('/echo', '<a/>', 'text/xml'), 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['plain text', () => post('/echo', 'hello', 'text/plain'), 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a body too large', () => post('/echo', JSON.stringify('x'.repeat(2000))), 413, 'PAYLOAD_TOO_LARGE'],
    ['a bad escape in the path', () => fetch(`${url}/%zz`), 400, 'BAD_REQUEST'],
    ['a URL too long', () => fetch(`${url}/health?${'x'.repeat(9000)}`), 414, 'URI_TOO_LONG'],
    ['an unknown error', () => fetch(`${url}/boom`), 500, 'INTERNAL_ERROR'],
  ];
  test.each(cases)('%s', async (_name, send, status, code) => {
    await start();
    const reply = await send();
    const body = (await reply.json()) as ErrorBody & { issues: { path: string }[] };
    expect(reply.status).toBe(status);
    expect(body).toMatchObject({ statusCode: status, code });
    expect(typeof body.error === 'string' && typeof body.message === 'string').toBe(true);
    expect(JSON.stringify(body)).not.toMatch(/hunter2|at .*\.ts|1234/);
  });

  test('a validation failure lists every issue by its dotted path', async () => {
    await start();
    const reply = await post('/echo', '{"list":[{"name":"ok"},{"name":7},{}]}');
    const body = (await reply.json()) as ErrorBody & { issues: { path: string }[] };
    expect(reply.status).toBe(400);
    expect(body.code).toBe('VALIDATION_FAILED');
    expect(body.issues.map((issue) => issue.path)).toEqual(['list.1.name', 'list.2.name']);
  });

  test('named extras follow the four fields', async () => {
    await start();
    const reply = await fetch(`${url}/pay`);
    expect(await reply.json()).toEqual({
      statusCode: 402,
      error: 'Payment Required',
      message: 'Pay first',
      code: 'PAYMENT_REQUIRED',
      claimIds: ['c1'],
    });
  });

  test('what is not HTTP gets a 400 and a closed connection', async () => {
    await start();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write('NONSENSE\r\n\r\n');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nX-Request-Id: /);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({ statusCode: 400, code: 'BAD_REQUEST' });
  });

  test('an unknown error is logged whole', async () => {
    await start();
    await fetch(`${url}/boom`);
    expect(lines.some((line) => JSON.stringify(line).includes('hunter2'))).toBe(true);
  });
});

describe('the time a request may take', () => {
  test('may be longer than that of an upload', async () => {
    await start({ requestTimeoutMs: 3_600_000, isUpload: () => false });
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  test.each(['/echo', '/nowhere', '/%zz'])('a body for %s that does not arrive ends the connection', async (path) => {
    await start({ requestTimeoutMs: 100, isUpload: () => false });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`);
    socket.resume();
    await once(socket, 'close');
  });

  test('counts for requests that another handler takes before Fastify, as Socket.IO does', async () => {
    await start({ requestTimeoutMs: 100, isUpload: ({ url }) => url === '/files' }, ({ server: http }) => {
      http.removeAllListeners('request').on('request', () => {});
    });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write('POST /socket.io/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });
});

test('an empty body with a JSON content type is no body', async () => {
  await start();
  expect(await (await post('/maybe', '')).json()).toEqual({ got: null });
});

test('a body is UTF-8 and not compressed', async () => {
  await start();
  const send = async (headers: Record<string, string>, body: NonNullable<RequestInit['body']> = '{"name":"é"}') => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
    const reply = await fetch(`${url}/maybe`, init);
    return { status: reply.status, body: await reply.json() };
  };
  const read = { status: 200, body: { got: { name: 'é' } } };
  expect(await send({})).toEqual(read);
  expect(await send({ 'content-encoding': 'Identity' })).toEqual(read);
  expect(await send({ 'content-type': 'application/json; x=y; Charset="UTF-8"' })).toEqual(read);
  const latin = { 'content-type': 'application/json;charset=ISO-8859-1' };
  expect(await send(latin, '{"name":"e"}')).toMatchObject({ status: 200 });
  const unsupported = { status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } };
  expect(await send(latin)).toMatchObject(unsupported);
  expect(await send({ 'content-type': 'application/json; charset=utf-16' })).toMatchObject(unsupported);
  expect(await send({ 'content-encoding': 'gzip' })).toMatchObject(unsupported);
  expect(await send({}, Buffer.from('{"name":"é"}', 'latin1'))).toMatchObject({
    status: 400,
    body: { code: 'BAD_REQUEST' },
  });
});

test('a prototype in a body is dropped, not obeyed', async () => {
  await start();
  expect(await (await post('/maybe', '{"a":1,"__proto__":{"admin":true}}')).json()).toEqual({ got: { a: 1 } });
});

test('health is 503 when the service says so', async () => {
  await start();
  expect((await fetch(`${url}/health`)).status).toBe(200);
  healthy = false;
  const reply = await fetch(`${url}/health`);
  expect([reply.status, await reply.json()]).toEqual([503, { status: 'degraded' }]);
});

describe('metrics are for operators', () => {
  test('without a token: direct connections from this machine only', async () => {
    await start();
    await fetch(`${url}/nowhere`);
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toMatch(/http_request_duration_seconds_count\{.*route="unknown".*status="404".*\} 1/);
    for (const header of ['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'Via']) {
      expect((await fetch(`${url}/metrics`, { headers: { [header]: '127.0.0.1' } })).status, header).toBe(401);
    }
  });

  test('with a token: the token only, wherever the caller is', async () => {
    await start({ operatorToken: 'the-token' });
    const ask = async (authorization?: string) =>
      (await fetch(`${url}/metrics`, { headers: authorization ? { authorization } : {} })).status;
    expect([
      await ask(),
      await ask('Bearer wrong'),
      await ask('Basic the-token'),
      await ask('Bearer the-token'),
    ]).toEqual([401, 401, 401, 200]);
  });
});

describe('cross-origin rules', () => {
  const preflight = (origin: string) =>
    fetch(`${url}/echo`, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });

  test('any origin, without credentials', async () => {
    await start({ cors: { origins: ['*'], exposedHeaders: ['X-Run-Id'] } });
    const reply = await preflight('https://a.example');
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
    expect(reply.headers.get('access-control-allow-headers')).toContain('x-ucan-delegation');
    expect(reply.headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, DELETE, PATCH, OPTIONS');
    const answer = await fetch(`${url}/health`, { headers: { origin: 'https://a.example' } });
    expect(answer.headers.get('access-control-expose-headers')).toBe('X-Request-Id, Retry-After, X-Run-Id');
  });

  test('named origins, with credentials', async () => {
    await start({ cors: { origins: ['https://a.example'] } });
    const good = await preflight('https://a.example');
    expect(good.headers.get('access-control-allow-origin')).toBe('https://a.example');
    expect(good.headers.get('access-control-allow-credentials')).toBe('true');
    expect((await preflight('https://b.example')).headers.get('access-control-allow-origin')).toBeNull();
  });

  test('every port of this machine, and nothing that only looks like it', async () => {
    await start({ cors: { origins: ['http://localhost:*', 'http://127.0.0.1:*'] } });
    const allowed = async (origin: string) =>
      (await preflight(origin)).headers.get('access-control-allow-origin') === origin;
    for (const origin of ['http://localhost:5173', 'http://localhost', 'http://127.0.0.1:3000'])
      expect([origin, await allowed(origin)]).toEqual([origin, true]);
    for (const origin of [
      'http://localhost.evil.example',
      'http://127a0b0c1:80',
      'https://localhost:1',
      'http://localhost:1@evil.example',
    ])
      expect([origin, await allowed(origin)]).toEqual([origin, false]);
  });

  test('off unless asked for', async () => {
    await start();
    const reply = await fetch(`${url}/health`, { headers: { origin: 'https://a.example' } });
    expect(reply.headers.get('access-control-allow-origin')).toBeNull();
  });
});

test('closing lets a request in flight finish and takes no new ones', async () => {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await start({}, (own) =>
    own.get('/slow', async () => {
      reached.resolve();
      await released.promise;
      return { done: true };
    }),
  );
  const inFlight = fetch(`${url}/slow`);
  await reached.promise;
  const closing = closeServer(server);
  await waitFor('the port to close', () =>
    fetch(`${url}/health`).then(
      () => false,
      () => true,
    ),
  );
  released.resolve();
  expect(await (await inFlight).json()).toEqual({ done: true });
  await closing;
});

test('a port that is taken is reported in one sentence', async () => {
  await start();
  const second = await createServer({
    name: 'second',
    logger,
    trustProxy: false,
    operatorToken: undefined,
    bodyLimit: 1,
    health: async () => ({ healthy: true, body: {} }),
  });
  const port = Number(new URL(url).port);
  await expect(listen(second, { host: '127.0.0.1', port, portName: 'USSD_PORT' })).rejects.toThrow(
    `Port ${port} is already in use; stop the other program or set USSD_PORT to another port.`,
  );
  await second.close();
});

describe('replies that their client does not read', () => {
  const large = 'x'.repeat(16 * 1024 * 1024);
  const askUnread = () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined).pause();
    socket.write('GET /large HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    return socket;
  };
  const isOpen = () =>
    new Promise<boolean>((resolve) => server.server.getConnections((_error, count) => resolve(count > 0)));

  test.each(['framework', 'raw'])('are cut off, also those that are written past the framework: %s', async (kind) => {
    await start({ idleTimeoutMs: 200 }, (own) => {
      own.get('/large', async (_request, reply) => {
        if (kind === 'framework') return large;
        reply.hijack();
        reply.raw.end(large);
        return reply;
      });
    });
    const socket = askUnread();
    await waitFor('the connection', isOpen);
    await waitFor('its end', async () => !(await isOpen()));
    socket.destroy();
  });

  test('an answer that takes longer is waited for, and sent whole', async () => {
    await start({ idleTimeoutMs: 200 }, (own) => {
      own.get('/large', async () => {
        await sleep(700);
        return large;
      });
    });
    const socket = askUnread();
    let read = 0;
    for await (const chunk of socket) {
      read += chunk.length;
      if (read > large.length) break;
    }
    expect(read).toBeGreaterThan(large.length);
  });
});

test('a body of very many values is refused before it is read', async () => {
  await start({ bodyLimit: 1_000_000 });
  const reply = await post('/maybe', `[${Array(60_000).fill('{}').join(',')}]`);
  expect([reply.status, ((await reply.json()) as ErrorBody).code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  expect((await post('/maybe', `[${Array(20_000).fill('{}').join(',')}]`)).status).toBe(200);
  expect((await post('/maybe', JSON.stringify(['{},'.repeat(60_000)]))).status).toBe(200);
});
