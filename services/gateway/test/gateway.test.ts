// Section 3 of the contract, row by row, over real sockets: a gRPC node, the gateway, an HTTP client.
import { request as httpRequest } from 'node:http';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import * as grpc from '@grpc/grpc-js';
import { gatewayErrorBodySchema, gatewayHealthSchema } from '@palaver/contract/internal';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseProtoFiles } from '../src/descriptors/parse-proto-files.ts';
import { type FixtureNode, type NodeReply, startFixtureNode } from './fixture-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let node: FixtureNode;
let gateway: TestGateway;
let reply: ((method: string) => NodeReply | undefined) | undefined;

beforeAll(async () => {
  const text = 'syntax = "proto3"; package hidden.v1; message Why { string word = 1; }';
  node = await startFixtureNode({
    without: ['Star'],
    hidden: parseProtoFiles([{ name: 'why.proto', text }]),
    reply: (call) => reply?.(call.method) ?? { message: call.request },
  });
  gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_SOURCE_PREFIX: '/fixture',
    GATEWAY_PREFIX: '/things',
    GATEWAY_LEGACY_PREFIXES: '/old',
    GATEWAY_TIMEOUT_MS: '2000',
    GATEWAY_CACHE_TTL_MS: '0',
  });
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  node.close();
});

async function failing(with_: NodeReply, path = '/things/item/1') {
  reply = () => with_;
  try {
    const response = await gateway.get(path);
    return { response, body: gatewayErrorBodySchema.strict().parse(await response.json()) };
  } finally {
    reply = undefined;
  }
}

/** A request with a target that `fetch` would tidy up. */
function rawGet(target: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  const { port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port, path: target, headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    })
      .on('error', reject)
      .end();
  });
}

describe('prefixes', () => {
  test('routes are served under the new prefix, not under the source', async () => {
    expect((await gateway.get('/things/item/1')).status).toBe(200);
    expect((await gateway.get('/fixture/item/1')).status).toBe(404);
  });

  test('a legacy prefix answers and names its successor', async () => {
    const response = await gateway.get('/old/item/a%20b?note=x');
    expect(response.status).toBe(200);
    expect(response.headers.get('deprecation')).toBe('true');
    expect(response.headers.get('link')).toBe('</things/item/a%20b>; rel="successor-version"');
    expect((await gateway.get('/things/item/1')).headers.get('deprecation')).toBeNull();
  });
});

describe('matching', () => {
  test('double slashes and dots redirect to the clean path, query included', async () => {
    const { port } = new URL(gateway.url);
    const location = await new Promise((resolve) =>
      httpRequest({ port, host: '127.0.0.1', path: '//things/./item//1?note=a%20b' }, (response) =>
        resolve([response.statusCode, response.headers.location]),
      ).end(),
    );
    expect(location).toEqual([301, '/things/item/1?note=a%20b']);
  });

  test.each(['/things/item/%zz', '/things/item/%', '/things/item/%ff', '/things/item/1?note=%zz'])(
    'the bad escape in %s is a 400',
    async (target) => {
      const { status, body } = await rawGet(target);
      expect(status).toBe(400);
      expect(JSON.parse(body)).toMatchObject({ statusCode: 400, code: 3, reason: 'BAD_REQUEST' });
    },
  );

  test('an escaped slash splits, an escaped colon is data', async () => {
    expect((await gateway.get('/things/item/a%2Fb')).status).toBe(404);
    expect(await (await gateway.get('/things/item/did%3Ax')).json()).toMatchObject({ id: 'did:x' });
  });
});

describe('errors', () => {
  test.each([
    [1, 408],
    [2, 500],
    [3, 400],
    [4, 504],
    [5, 404],
    [6, 409],
    [7, 403],
    [8, 429],
    [9, 400],
    [10, 409],
    [11, 400],
    [12, 501],
    [13, 500],
    [14, 503],
    [15, 500],
    [16, 401],
  ])('code %i is HTTP %i', async (code, status) => {
    const { response, body } = await failing({ code, message: 'because <so>' });
    expect(response.status).toBe(status);
    expect(body).toMatchObject({ statusCode: status, code, message: 'because <so>', details: [] });
    expect(response.headers.get('x-request-id')).not.toBeNull();
  });

  test('a code outside the standard is unknown', async () => {
    expect((await failing({ code: 99 as grpc.status, message: 'odd' })).body).toMatchObject({
      code: 2,
      statusCode: 500,
    });
  });

  test('details are read from the status, types that the node knows whole and others as bytes', async () => {
    const leaf = new BinaryWriter().uint32(10).string('oak').finish();
    const any = (type: string, value: Uint8Array) =>
      new BinaryWriter().uint32(10).string(type).uint32(18).bytes(value).finish();
    const status = new BinaryWriter()
      .uint32(26)
      .bytes(any('type.googleapis.com/fixture.v1.Leaf', leaf))
      .uint32(26)
      .bytes(any('/no.such.Type', Buffer.from([1, 2])))
      .uint32(26)
      .bytes(any('/hidden.v1.Why', leaf))
      .finish();
    const metadata = new grpc.Metadata();
    metadata.set('grpc-status-details-bin', Buffer.from(status));
    const { body } = await failing({ code: grpc.status.FAILED_PRECONDITION, message: 'no', metadata });
    expect(body.details).toEqual([
      { '@type': 'type.googleapis.com/fixture.v1.Leaf', name: 'oak', weight: '0' },
      { '@type': '/no.such.Type', value: 'AQI=' },
      { '@type': '/hidden.v1.Why', word: 'oak' },
    ]);
  });

  test('a stack trace of the node stays with the node', async () => {
    const { body } = await failing({ code: 13, message: 'panic: nil map\ngoroutine 7 [running]:\n/go/src/x.go:12' });
    expect(body.message).toBe('panic: nil map');
  });

  test.each(['GET', 'POST', 'DELETE'])('%s on a path that only another method has is 405', async (method) => {
    const response = await gateway.get('/things/write', {}, method);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'OPTIONS']);
    expect(await response.json()).toMatchObject({ reason: 'METHOD_NOT_ALLOWED' });
  });

  test('a method that the node lacks is 501', async () => {
    const response = await gateway.get('/things/star/a/b');
    expect(response.status).toBe(501);
    expect(await response.json()).toMatchObject({ code: 12, reason: 'UNIMPLEMENTED' });
  });

  test('an unknown path is 404 and names the served prefixes', async () => {
    const response = await gateway.get('/nothing/here');
    expect(response.status).toBe(404);
    const body = gatewayErrorBodySchema.parse(await response.json());
    expect(body).toMatchObject({ code: 5, reason: 'NOT_FOUND', error: 'Not Found' });
    expect(body.message).toContain('/things, /old');
  });

  test('a value of the wrong type is 400 with code 3', async () => {
    const response = await gateway.get('/things/everything?number=many');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 3,
      message: 'invalid parameter number: parsing "many": invalid syntax',
    });
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'LOCK', 'QUERY'])('%s is 405 with Allow', async (method) => {
    const response = await gateway.get('/things/item/1', {}, method);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expect(await response.json()).toMatchObject({ statusCode: 405, code: 12, reason: 'METHOD_NOT_ALLOWED' });
  });

  test('another method is refused whatever its body, and on the pages of the gateway too', async () => {
    for (const path of ['/things/item/1', '/health', '/docs', '/openapi.json']) {
      for (const type of ['application/json', 'text/strange']) {
        const init = { method: 'POST', headers: { 'content-type': type }, body: `{"${'x'.repeat(5_000)}` };
        const response = await fetch(gateway.url + path, init);
        expect([path, response.status, response.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD, OPTIONS']);
      }
    }
  });

  test('HEAD has the headers of GET and no body, OPTIONS says what is allowed', async () => {
    const get = await gateway.get('/things/item/1');
    const head = await gateway.get('/things/item/1', {}, 'HEAD');
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(String((await get.text()).length));
    expect(head.headers.get('etag')).toBe(get.headers.get('etag'));
    expect(await head.text()).toBe('');
    const options = await gateway.get('/things/item/1', {}, 'OPTIONS');
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });

  test('a URL of more than 8 KiB is 414', async () => {
    expect((await gateway.get(`/things/item/${'a'.repeat(8_000)}`)).status).toBe(200);
    const { status, body } = await rawGet(`/things/item/1?note=${'a'.repeat(8_200)}`);
    expect([status, JSON.parse(body).code]).toEqual([414, 3]);
  });
});

describe('headers', () => {
  test('the height goes up as metadata and comes back under both names', async () => {
    const response = await gateway.get('/things/item/1', { 'x-cosmos-block-height': '42' });
    expect(node.calls.at(-1)?.metadata.get('x-cosmos-block-height')).toEqual(['42']);
    expect(response.headers.get('x-cosmos-block-height')).toBe('42');
    expect(response.headers.get('grpc-metadata-x-cosmos-block-height')).toBe('42');
  });

  test.each(['abc', '-1', '1.5', '9223372036854775808', '0x10', '1,2'])('the height %s is a 400', async (height) => {
    const response = await gateway.get('/things/item/1', { 'x-cosmos-block-height': height });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 3 });
  });

  test('Grpc-Metadata-* goes up without its prefix, answer metadata comes down with it', async () => {
    reply = () => ({ message: Buffer.alloc(0), metadata: { 'x-trace': 'abc' } });
    const response = await gateway.get('/things/item/1', { 'grpc-metadata-x-tenant': 'blue' });
    reply = undefined;
    expect(node.calls.at(-1)?.metadata.get('x-tenant')).toEqual(['blue']);
    expect(response.headers.get('grpc-metadata-x-trace')).toBe('abc');
  });

  test.each([
    ['grpc-metadata-x-bin', '!!!'],
    ['grpc-metadata-connection', 'close'],
    ['grpc-metadata-grpc-timeout', '1S'],
    ['grpc-metadata-te', 'gzip'],
    ['grpc-metadata-', 'x'],
    ['grpc-metadata-x', 'ä'],
    ['grpc-timeout', 'soon'],
  ])('the metadata header %s: %s is refused with 400', async (name, value) => {
    const { status } = await rawGet('/things/item/1', { [name]: value });
    expect(status).toBe(400);
  });

  test('Grpc-Timeout is honoured and cannot exceed the limit', async () => {
    reply = (method) => (method === 'Item' ? (new Promise(() => undefined) as never) : undefined);
    const response = await gateway.get('/things/item/1', { 'grpc-timeout': '50m' });
    reply = undefined;
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({ code: 4, reason: 'DEADLINE_EXCEEDED' });
    await gateway.get('/things/item/1', { 'grpc-timeout': '99H' });
    const sent = node.calls.at(-1)?.metadata.get('grpc-timeout');
    expect(sent ?? []).not.toContain('99H');
  });

  test('Authorization stays here unless forwarding is asked for', async () => {
    await gateway.get('/things/item/1', { authorization: 'Bearer secret' });
    expect(node.calls.at(-1)?.metadata.get('authorization')).toEqual([]);
    await using forwarding = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_FORWARD_AUTH: 'true' });
    const first = await forwarding.get('/fixture/item/1', { authorization: 'Bearer secret' });
    expect(node.calls.at(-1)?.metadata.get('authorization')).toEqual(['Bearer secret']);
    const second = await forwarding.get('/fixture/item/1', { authorization: 'Bearer secret' });
    expect([first, second].map(({ headers }) => headers.get('x-cache'))).toEqual(['miss', 'miss']);
  });

  test('a request id is echoed', async () => {
    expect((await gateway.get('/things/item/1', { 'x-request-id': 'abc-1' })).headers.get('x-request-id')).toBe(
      'abc-1',
    );
    expect((await gateway.get('/nothing', { 'x-request-id': 'abc-2' })).headers.get('x-request-id')).toBe('abc-2');
  });
});

describe('JSON', () => {
  test('?json=proto3 gives standard JSON without defaults', async () => {
    const path = '/things/everything?long_number=5&colour=COLOUR_RED';
    expect(await (await gateway.get(`${path}&json=proto3`)).text()).toBe('{"longNumber":"5","colour":"COLOUR_RED"}');
    expect(await (await gateway.get(`${path}&json=other`)).json()).toMatchObject({ long_number: '5', number: 0 });
  });
});

describe('documents', () => {
  test('health shows upstreams, routes and height, and no address', async () => {
    await gateway.get('/things/item/1');
    const response = await gateway.get('/health');
    const health = gatewayHealthSchema.parse(await response.json());
    expect(health).toMatchObject({
      status: 'ok',
      height: 100,
      upstreams: [{ address: 'node 1', healthy: true }],
    });
    expect(JSON.stringify(health)).not.toContain(node.address);
    expect(health.routes).toBe(24);
  });

  test('metrics count by route template, cache state and gRPC code', async () => {
    await gateway.get('/things/item/some-id');
    const text = await (await gateway.get('/metrics')).text();
    expect(text).toMatch(
      /gateway_requests_total\{route="\/things\/item\/\{id\}",cache="miss",grpc_code="0",service="gateway"\} \d+/,
    );
    expect(text).toMatch(/gateway_upstream_seconds_count\{[^}]*method="\/fixture\.v1\.Query\/Item",grpc_code="0"/);
    expect(text).not.toContain('some-id');
  });

  test('the docs page and what it loads come from here', async () => {
    const page = await gateway.get('/docs');
    expect(page.headers.get('content-type')).toContain('text/html');
    const html = await page.text();
    expect(html).not.toMatch(/https?:/);
    for (const [, path] of html.matchAll(/(?:src|href)="([^"]+)"/g))
      expect((await gateway.get(`/${path}`)).status).toBe(200);
  });

  test('the root says what this is', async () => {
    expect(await (await gateway.get('/')).json()).toMatchObject({ status: 'ok' });
  });
});

test.each(['/:(', '/:id(', '/*/(', '/::', '/a:b(c'])(
  'POST %s is refused like any path that there is not',
  async (path) => {
    await using node = await startFixtureNode();
    await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
    expect((await gateway.get(path, {}, 'POST')).status).toBe(404);
  },
);
