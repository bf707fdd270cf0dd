// What a web page elsewhere, and a name that was made to point to this machine, can do to services without a token.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createTempDir, freePort, launchBrowser, startProcess, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { services } from '../src/services.ts';

const launcher = join(import.meta.dirname, '../bin/palaver.js');
const ends: (() => Promise<unknown>)[] = [];
const ports: Record<string, number> = {};
const serviceNames = ['ussd', 'agent', 'gateway', 'console'] as const;
const did = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK';

beforeAll(async () => {
  const dir = await createTempDir();
  for (const { name } of Object.values(services)) ports[name] = await freePort();
  const env = Object.fromEntries(Object.values(services).map(({ name, portName }) => [portName, String(ports[name])]));
  const child = startProcess(process.execPath, [launcher, 'up'], {
    cwd: dir.path,
    env: { LOG_LEVEL: 'warn', CREDITS_ENABLED: 'true', RATE_LIMIT_PER_MINUTE: '1000', ...env },
  });
  ends.push(async () => {
    child.kill();
    await child.exited;
    await dir[Symbol.asyncDispose]();
  });
  await child.printed('Ctrl-C stops everything.');
});
afterAll(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Attack {
  service: string;
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The status of a request whose headers are all ours, Host included. */
async function statusOf({ service, method = 'GET', path, headers = {}, body = '' }: Attack): Promise<number> {
  const socket = connect(ports[service] ?? 0, '127.0.0.1');
  const all = { host: `127.0.0.1:${ports[service]}`, 'content-length': String(body.length), ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${head.join('')}connection: close\r\n\r\n${body}`);
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(String(data))?.[1]);
}

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const topUp = JSON.stringify({ did, amount: 5, idempotencyKey: 'k-1' });
const stolen = JSON.stringify({ did, amount: 5, idempotencyKey: 'k-2' });
const dial = 'sessionId=s1&serviceCode=*1234%23&phoneNumber=%2B254700000001&text=';

const operatorRoutes: Attack[] = [
  ...serviceNames.map((service) => ({ service, path: '/metrics' })),
  { service: 'ussd', path: '/api/ussd/sessions' },
  { service: 'agent', path: `/credits/accounts/${did}` },
  { service: 'agent', method: 'POST', path: '/credits/top-up', headers: json, body: topUp },
  { service: 'console', path: '/api/ussd-gateway/metrics' },
  { service: 'console', path: '/api/ussd-gateway/api/ussd/sessions' },
  { service: 'console', method: 'POST', path: '/api/agent/credits/top-up', headers: json, body: topUp },
];

test('operators’ routes answer programs of this machine, and no page that is not their own', async () => {
  for (const route of operatorRoutes) {
    const { service } = route;
    const withHeaders = (extra: Record<string, string>) =>
      statusOf({ ...route, headers: { ...route.headers, ...extra } }).then((status) => [
        service,
        route.path,
        extra,
        status,
      ]);
    const own = `127.0.0.1:${ports[service]}`;
    const trusted: Record<string, string>[] = [
      {},
      { host: `localhost:${ports[service]}` },
      { origin: `http://${own}`, 'sec-fetch-site': 'same-origin' },
    ];
    for (const extra of trusted) {
      const isServed = expect.toSatisfy((status) => status < 300);
      expect(await withHeaders(extra)).toEqual([service, route.path, extra, isServed]);
    }
    const foreign: Record<string, string>[] = [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { origin: `http://${own}`, 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
      { host: `127.0.0.1.evil.example:${ports[service]}` },
      { 'x-forwarded-for': '10.0.0.9' },
      { via: '1.1 proxy' },
    ];
    for (const extra of foreign) {
      const isRefused = expect.toSatisfy((status) => status === 401 || status === 403);
      expect(await withHeaders(extra)).toEqual([service, route.path, extra, isRefused]);
    }
  }
});

test('a request that names two hosts, or one in its request line, is no operator’s', async () => {
  const host = `127.0.0.1:${ports.ussd}`;
  const two = { host: `${host}\r\nhost: evil.example` };
  expect(await statusOf({ service: 'ussd', path: '/metrics', headers: two })).toBe(400);
  expect(await statusOf({ service: 'ussd', path: 'http://evil.example/metrics' })).toBe(401);
  expect(await statusOf({ service: 'ussd', path: '/metrics' })).toBe(200);
});

test('a name that was made to point to this machine reaches nothing but the probes of a service', async () => {
  for (const service of serviceNames) {
    const headers = { host: `rebound.example:${ports[service]}` };
    for (const path of ['/docs', '/api/ussd', '/metrics'])
      expect([service, path, await statusOf({ service, path, headers })]).toEqual([service, path, 403]);
    expect([service, await statusOf({ service, path: '/health', headers })]).toEqual([service, 200]);
    expect(await statusOf({ service, path: '/health', headers: { host: 'palaver.localhost' } })).toBe(200);
    expect(await statusOf({ service, path: '/health', headers: { host: `[::1]:${ports[service]}` } })).toBe(200);
  }
});

test('operators’ routes have no CORS headers, preflights included; others keep theirs', async () => {
  const agent = `http://127.0.0.1:${ports.agent}`;
  const cors = async (path: string, init: RequestInit) => {
    const reply = await fetch(agent + path, init);
    return [...reply.headers.keys()].filter((name) => name.startsWith('access-control-'));
  };
  const headers = { origin: 'http://app.example' };
  const preflight = {
    ...headers,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  };
  for (const path of ['/credits/top-up', `/credits/accounts/${did}`, '/metrics', '/metrics/errors']) {
    const method = path === '/credits/top-up' ? 'POST' : 'GET';
    expect([path, await cors(path, { method, headers })]).toEqual([path, []]);
    expect([path, await cors(path, { method: 'OPTIONS', headers: preflight })]).toEqual([path, []]);
  }
  expect(await cors('/sessions', { method: 'OPTIONS', headers: preflight })).toContain('access-control-allow-origin');
});

test('a foreign page in a real browser books no credit, dials nothing and reads nothing', async () => {
  const page = createServer((_request, reply) => {
    reply.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>');
  }).listen(0, '127.0.0.1');
  await once(page, 'listening');
  ends.push(async () => page.close());
  const browser = await launchBrowser(['--host-resolver-rules=MAP rebound.example 127.0.0.1']);
  ends.push(() => browser.close());
  const tab = await browser.newPage();
  const { port } = page.address() as AddressInfo;
  await tab.goto(`http://evil.localhost:${port}/`);

  const attempt = (url: string, method: string, type: string, body: string) =>
    tab.evaluate(
      async ([url, method, type, body]) => {
        const init = { method, headers: type ? { 'content-type': type } : {}, ...(body && { body }) };
        await fetch(url as string, { ...init, mode: 'no-cors' } as RequestInit).catch(() => undefined);
        return fetch(url as string, init as RequestInit).then(
          (reply) => reply.text(),
          () => 'refused',
        );
      },
      [url, method, type, body],
    );
  const at = (service: string, path: string) => `http://127.0.0.1:${ports[service]}${path}`;
  const readAccount = async () => (await fetch(at('agent', `/credits/accounts/${did}`))).json();
  const account = await readAccount();
  const reads: unknown[] = [];
  for (const path of [at('ussd', '/api/ussd'), at('console', '/api/ussd-gateway/api/ussd')])
    reads.push(await attempt(path, 'POST', form['content-type'], dial));
  for (const path of [at('agent', '/credits/top-up'), at('console', '/api/agent/credits/top-up')])
    reads.push(
      await attempt(path, 'POST', 'text/plain', stolen),
      await attempt(path, 'POST', json['content-type'], stolen),
    );
  reads.push(await attempt(at('ussd', '/api/ussd/sessions'), 'GET', '', ''));
  // A form leaves the page and needs no CORS at all.
  const fields = { sessionId: 's2', serviceCode: '*1234#', phoneNumber: '+254700000002', text: '' };
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
  await tab.setContent(`<form method="post" action="${at('ussd', '/api/ussd')}">${inputs.join('')}</form>`);
  await tab.evaluate('document.forms[0].submit()');
  await tab.waitForURL((url) => url.pathname === '/api/ussd');
  expect(await tab.evaluate('document.body.innerText')).toContain('FORBIDDEN');

  expect(reads.every((text) => text === 'refused' || /UNAUTHORIZED|FORBIDDEN/.test(String(text)))).toBe(true);
  expect(await (await fetch(at('ussd', '/api/ussd/sessions'))).json()).toEqual({ activeSessions: [], count: 0 });
  expect(await readAccount()).toEqual(account);

  const rebound = await tab.goto(`http://rebound.example:${ports.ussd}/api/ussd/sessions`);
  expect(rebound?.status()).toBe(403);
});

test('everything a browser may open forbids inline scripts, frames and guessed types; documentation still renders', async () => {
  const browser = await launchBrowser();
  ends.push(() => browser.close());
  const pages = [
    ['agent', '/docs', '.opblock'],
    ['gateway', '/docs', '.opblock'],
    ['console', '/', 'h1'],
  ] as const;
  for (const [service, path, shown] of pages) {
    const tab = await browser.newPage();
    const complaints: string[] = [];
    tab.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    tab.on('pageerror', (error) => complaints.push(String(error)));
    const url = `http://127.0.0.1:${ports[service]}${path}`;
    await waitFor('the page', async () => (await fetch(url)).ok);
    await tab.goto(url);
    await tab.locator(shown).first().waitFor();
    expect([service, complaints]).toEqual([service, []]);
    await tab.close();
  }
  const paths = ['/', '/docs', '/docs/', '/health', '/openapi.json', '/nowhere', '/metrics', '/docs/swagger-ui.css'];
  const isPublic = (path: string) => path === '/' || path.startsWith('/docs') || path === '/openapi.json';
  for (const service of serviceNames) {
    for (const path of paths) {
      const { headers } = await fetch(`http://127.0.0.1:${ports[service]}${path}`);
      const policy = headers.get('content-security-policy') ?? '';
      expect([service, path, policy]).toEqual([service, path, expect.stringContaining("default-src 'none'")]);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/script-src[^;]*(unsafe|\*|http)/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect([service, path, headers.get('cache-control')]).toEqual([
        service,
        path,
        isPublic(path) ? expect.any(String) : 'no-store',
      ]);
    }
  }
});
