// Plain queries are answered without the framework; nobody must notice. With `OTEL_ENABLED` every request goes through the
// framework: both are asked the same, and must answer the same.
import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorizeApiKey } from '../src/auth.ts';
import { type FixtureNode, startFixtureNode } from './fixture-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

interface Ask {
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Whether it is answered without the framework. */
  early?: boolean;
}

interface Reply {
  status: number;
  headers: [string, string][];
  body: string;
}

function send({ url }: TestGateway, { path, method = 'GET', headers = {}, body }: Ask): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const own = { ...headers, ...(body !== undefined && { 'content-length': String(body.length) }) };
    httpRequest(url, { path, method, headers: own }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      const { rawHeaders: raw, statusCode: status = 0 } = response;
      const pairs = raw.flatMap((name, at): [string, string][] =>
        at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? '']] : [],
      );
      resolve({ status, headers: pairs, body: Buffer.concat(chunks).toString('base64') });
    })
      .on('error', reject)
      .end(body);
  });
}

/** What is another in every reply, by time or by chance. */
const changing = /^(?:date|age|x-request-id|ratelimit-reset|retry-after)$/;
const comparable = ({ status, headers, body }: Reply) => ({
  status,
  headers: headers.map(([name, value]) => `${name}: ${changing.test(name) ? '…' : value}`).sort(),
  // Refusals by a limit name the seconds that are left.
  body: status === 429 ? '' : body,
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const keys = [
  { name: 'all', sha256: sha256('key-all') },
  { name: 'boxes', sha256: sha256('key-boxes'), routes: ['/fixture/box'] },
  { name: 'slow', sha256: sha256('key-slow'), perMinute: 4 },
];
const item = '/fixture/item/1';
const large = '/fixture/item/large';
const tag = `"${createHash('sha1').update('{"id":"1","owner":null,"note":""}').digest('base64url')}"`;

const forms: Ask[] = [
  { path: item, early: true },
  { path: item, headers: { 'x-cosmos-block-height': '5' }, early: true },
  { path: item, headers: { 'x-min-block-height': '7' }, early: true },
  { path: item, headers: { 'grpc-metadata-x-tenant': 'a' }, early: true },
  { path: item, headers: { 'if-none-match': '"other"' }, early: true },
  { path: item, headers: { 'if-none-match': '*' }, early: true },
  { path: large, headers: { 'if-none-match': '*', 'accept-encoding': 'br' }, early: true },
  { path: large, headers: { 'accept-encoding': 'gzip' }, early: true },
  { path: large, headers: { 'accept-encoding': 'br, gzip;q=0' }, early: true },
  { path: large, early: true },
  { path: item, body: 'a body', early: true },
  { path: item, method: 'HEAD' },
  { path: item, method: 'OPTIONS' },
  { path: item, method: 'POST' },
  { path: '/old/item/1' },
  { path: '/fixture/item/none', early: true },
];
/** Other ways to write a path, and what is no query at all: each URL is kept by its own letters. */
const spellings: Ask[] = [
  { path: '/fixture/item/%31', early: true },
  { path: '/fixture/%69tem/1', early: true },
  { path: '/fixture/item/1?b=1&a=2', early: true },
  { path: '/fixture/item/1?a=2&b=1', early: true },
  { path: '/fixture/item/1?', early: true },
  { path: '/fixture/item/1#end', early: true },
  { path: '/fixture//item/1' },
  { path: '/fixture/box/../item/1' },
  { path: '/fixture/item/%zz' },
  { path: `${item}?x=${'y'.repeat(9_000)}` },
  { path: '/fixture/item/1/' },
  { path: 'http://elsewhere.example/fixture/item/1' },
  { path: '/nothing' },
  { path: item, headers: { 'grpc-metadata-te': 'x' } },
  { path: item, headers: { 'x-cosmos-block-height': '-1' } },
  { path: item, headers: { host: 'elsewhere.example' } },
  { path: item, headers: { 'x-request-id': 'mine-1' }, early: true },
  { path: item, headers: { 'x-request-id': 'not\tmine' }, early: true },
];
const withHeader = (asks: Ask[], more: Record<string, string>) =>
  asks.map((ask) => ({ ...ask, headers: { ...ask.headers, ...more } }));

const deployments: { name: string; env: Record<string, string>; asks: Ask[] }[] = [
  { name: 'without rules', env: {}, asks: [...forms, ...spellings] },
  {
    name: 'with CORS for named origins',
    env: { CORS_ORIGIN: 'https://app.example,http://localhost:*' },
    asks: [
      ...withHeader(forms, { origin: 'https://app.example' }),
      { path: item, headers: { origin: 'http://localhost:5173' }, early: true },
      { path: item, headers: { origin: 'https://app.example.evil.example' }, early: true },
      { path: item, headers: { origin: 'null' }, early: true },
      { path: item, early: true },
    ],
  },
  {
    name: 'with CORS for all origins',
    env: { CORS_ORIGIN: '*' },
    asks: [
      { path: item, headers: { origin: 'https://any.example' }, early: true },
      { path: item, early: true },
    ],
  },
  { name: 'with a limit', env: { GATEWAY_RATE_LIMIT_PER_MINUTE: '1000' }, asks: [...forms, ...spellings] },
  {
    name: 'with routes of the node where the server has a page of its own',
    env: { GATEWAY_SOURCE_PREFIX: '/fixture/item', GATEWAY_PREFIX: '/metrics/errors' },
    asks: [{ path: '/metrics/errors/1' }, { path: '/%6detrics/errors/1' }, { path: '/metrics/item/1' }],
  },
  {
    name: 'with a limit that is reached',
    env: { GATEWAY_RATE_LIMIT_PER_MINUTE: '4' },
    asks: [{ path: item }, { path: item, method: 'HEAD' }],
  },
  {
    name: 'with a limit behind a proxy',
    env: { GATEWAY_RATE_LIMIT_PER_MINUTE: '4', TRUST_PROXY_ENABLED: 'true', TRUST_PROXY_CIDRS: '127.0.0.1' },
    asks: [
      { path: item, headers: { 'x-forwarded-for': '203.0.113.1' }, early: true },
      { path: item, headers: { 'x-forwarded-for': '203.0.113.1' } },
      { path: item, headers: { 'x-forwarded-for': '198.51.100.9, 203.0.113.2' }, early: true },
      { path: item, headers: { 'x-forwarded-for': '192.0.2.9, 203.0.113.2' } },
    ],
  },
  {
    name: 'with API keys and a limit',
    env: { GATEWAY_AUTH: 'api-key', GATEWAY_API_KEYS_FILE: 'given', GATEWAY_RATE_LIMIT_PER_MINUTE: '1000' },
    asks: [
      ...withHeader([...forms, ...spellings], { 'x-api-key': 'key-all' }),
      { path: item },
      { path: item, headers: { 'x-api-key': '' } },
      { path: item, headers: { 'x-api-key': 'wrong' } },
      { path: item, headers: { 'x-api-key': 'key-boxes' } },
      { path: '/fixture/%69tem/1', headers: { 'x-api-key': 'key-boxes' } },
      { path: '/fixture/box/1', headers: { 'x-api-key': 'key-boxes' }, early: true },
      { path: item, headers: { 'x-api-key': 'key-slow' }, early: true },
      { path: item, headers: { 'x-api-key': 'key-slow' } },
    ],
  },
];

let node: FixtureNode;
beforeAll(async () => {
  const long = Buffer.concat([Buffer.from([0x0a, 0xd0, 0x0f]), Buffer.alloc(2_000, 'x')]);
  node = await startFixtureNode({
    reply: ({ request }) =>
      request.includes('none')
        ? { code: 5, message: 'no such item' }
        : {
            message: request.includes('large') ? long : request,
            metadata: { 'x-cosmos-block-height': '7', 'x-a': 'b' },
          },
  });
});
afterAll(() => node.close());

async function start(env: Record<string, string>, lines: string[]): Promise<TestGateway> {
  const given = {
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_CACHE_TTL_MS: '600000',
    GATEWAY_LEGACY_PREFIXES: '/old',
    GATEWAY_SOURCE_PREFIX: '/fixture',
    LOG_LEVEL: 'info',
  };
  const destination = { write: (line: string) => void lines.push(line) };
  return startTestGateway(
    { ...given, ...env },
    { destination, ...(env.GATEWAY_AUTH && { authorize: authorizeApiKey(keys) }) },
  );
}

/** How often the start asks for the health depends on the load of the machine. */
const countRequests = (lines: string[]) =>
  lines.filter((line) => line.includes('"msg":"request"') && !line.includes('"path":"/health"')).length;
const counters = /^(?:gateway_requests_total|gateway_key_requests_total|http_request_duration_seconds_count)\{.*/gm;

/** What a gateway has counted, logged and listed as errors. */
async function readTraces(gateway: TestGateway, lines: string[]) {
  const counted = [...(await (await gateway.get('/metrics')).text()).matchAll(counters)].map(([line]) => line);
  const { errors } = (await (await gateway.get('/metrics/errors')).json()) as {
    errors: { message?: string; ms: number }[];
  };
  return {
    counted: counted.filter((line) => !/route="\/(?:health|metrics)/.test(line)).sort(),
    logged: lines
      .map((line) => JSON.parse(line))
      .filter(({ msg, path }) => msg === 'request' && !/^\/(?:health|metrics)/.test(path))
      .map(({ time: _time, ms, requestId, ...rest }) => ({ ...rest, ms: typeof ms, mine: requestId === 'mine-1' })),
    errors: errors.map(({ message, ...error }) => ({
      ...error,
      message: message?.replace(/in \d+ s/, 'in … s'),
      time: '',
      requestId: '',
      ms: typeof error.ms,
    })),
  };
}

describe.each(deployments)('a deployment $name', ({ env, asks }) => {
  test('answers plain queries without the framework and as the framework does', async () => {
    const [lines, frameworkLines]: [string[], string[]] = [[], []];
    await using early = await start(env, lines);
    await using framework = await start({ ...env, OTEL_ENABLED: 'true' }, frameworkLines);
    let handled = 0;
    const count = () => {
      handled += 1;
    };
    const channel = 'tracing:fastify.request.handler:start';
    for (const ask of asks) {
      for (const round of [1, 2, 3]) {
        subscribe(channel, count);
        const before = handled;
        const reply = await send(early, ask);
        unsubscribe(channel, count);
        const expected = await send(framework, ask);
        expect({ ask, round, ...comparable(reply) }).toEqual({ ask, round, ...comparable(expected) });
        if (ask.early) expect({ ask, handled }).toEqual({ ask, handled: before });
        // The lines are compared in their order.
        await expect.poll(() => countRequests(lines) - countRequests(frameworkLines)).toBe(0);
      }
    }
    // The channel counts: a request with another method always reaches the framework's handler.
    if (asks.some(({ method }) => method === 'HEAD')) expect(handled).toBeGreaterThan(0);
    expect(await readTraces(early, lines)).toEqual(await readTraces(framework, frameworkLines));
  });
});

test('a tag of a kept answer gets 304, and replies say that the connection ends while the server drains', async () => {
  await using gateway = await start({}, []);
  await send(gateway, { path: item });
  const unchanged = await send(gateway, { path: item, headers: { 'if-none-match': `W/"x", ${tag}` } });
  expect([unchanged.status, unchanged.body]).toEqual([304, '']);
  await gateway.server.lifecycle.drain(0);
  const reply = await send(gateway, { path: item });
  expect(Object.fromEntries(reply.headers)).toMatchObject({ 'x-cache': 'hit', connection: 'close', etag: tag });
});
