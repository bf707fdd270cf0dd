// Replies from the cache are sent without the framework where nothing but the cache is asked; nobody must notice.
import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { startFixtureNode } from './fixture-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

function ask({ url }: TestGateway, path: string, headers: Record<string, string> = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    httpRequest(url + path, { headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      const pairs = response.rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? [[name, response.rawHeaders[at + 1]]] : [],
      );
      const body = Buffer.concat(chunks).toString('base64');
      resolve({ status: response.statusCode ?? 0, headers: Object.fromEntries(pairs), body });
    })
      .on('error', reject)
      .end();
  });
}

/** What is another in every reply, and what the limit adds. */
const own = /^(?:date|age|x-request-id|ratelimit-.*)$/;
const comparable = ({ headers, ...rest }: Reply) => ({
  ...rest,
  headers: Object.entries(headers)
    .filter(([name]) => !own.test(name.toLowerCase()))
    .sort(([a], [b]) => (a < b ? -1 : 1)),
});

test('a reply from the cache is the same with the framework and without it', async () => {
  const large = Buffer.concat([Buffer.from([0x0a, 0xd0, 0x0f]), Buffer.alloc(2_000, 'x')]);
  await using node = await startFixtureNode({
    reply: ({ request }) =>
      request.includes('none')
        ? { code: 5, message: 'no such item' }
        : {
            message: request.includes('large') ? large : request,
            metadata: { 'x-cosmos-block-height': '7', 'x-a': 'b' },
          },
  });
  const lines: string[] = [];
  const env = { GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '600000', GATEWAY_LEGACY_PREFIXES: '/old' };
  const source = { GATEWAY_SOURCE_PREFIX: '/fixture' };
  await using plain = await startTestGateway(
    { ...env, ...source, LOG_LEVEL: 'info' },
    { destination: { write: (line) => void lines.push(line) } },
  );
  await using limited = await startTestGateway({ ...env, ...source, GATEWAY_RATE_LIMIT_PER_MINUTE: '100000' });
  const requests: [string, Record<string, string>][] = [
    ['/fixture/item/1', {}],
    ['/fixture/item/none', {}],
    ['/fixture/item/1', { 'x-cosmos-block-height': '5' }],
    ['/fixture/item/1', { 'grpc-metadata-x-tenant': 'a' }],
    ['/fixture/item/large', { 'accept-encoding': 'gzip' }],
    ['/fixture/item/large', { 'accept-encoding': 'br' }],
    ['/fixture/item/large', {}],
    ['/old/item/1', {}],
  ];
  for (const [path, headers] of requests) {
    const replies: Reply[] = [];
    for (const gateway of [plain, limited]) {
      await ask(gateway, path, headers);
      await ask(gateway, path, headers);
      replies.push(await ask(gateway, path, headers));
    }
    const [without, withFramework] = replies as [Reply, Reply];
    expect(without.headers).toMatchObject({ 'x-cache': 'hit', age: expect.stringMatching(/^\d+$/) });
    expect(withFramework.headers).toHaveProperty('ratelimit-limit');
    expect(comparable(without)).toEqual(comparable(withFramework));
  }
  const named = await ask(plain, '/fixture/item/1', { 'x-request-id': 'mine-1' });
  expect(named.headers['x-request-id']).toBe('mine-1');
  expect(JSON.parse(lines.find((line) => line.includes('mine-1')) ?? '{}')).toMatchObject({
    msg: 'request',
    method: 'GET',
    path: '/fixture/item/1',
    status: 200,
    ms: expect.any(Number),
  });
  const metrics = await (await plain.get('/metrics')).text();
  expect(metrics).toMatch(/http_request_duration_seconds_count\{[^}]*route="\/\*",status="200"[^}]*\} \d\d/);
  expect(metrics).toMatch(
    /gateway_requests_total\{route="\/fixture\/item\/\{id\}",cache="hit",grpc_code="0"[^}]*\} \d/,
  );
  expect((await ask(plain, '/fixture/item/1', { host: 'elsewhere.example' })).status).toBe(403);
});
