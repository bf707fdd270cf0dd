import { request as httpRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FixtureNode, startFixtureNode } from './fixture-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let node: FixtureNode;
let gateway: TestGateway;
beforeAll(async () => {
  node = await startFixtureNode();
  gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  node.close();
});

/** A request whose body is not decoded on the way. */
function rawGet(path: string, headers: Record<string, string>) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }>((resolve, reject) => {
    httpRequest(gateway.url + path, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    })
      .on('error', reject)
      .end();
  });
}

const long = `/fixture/item/1?note=${'palaver '.repeat(500).replaceAll(' ', '%20')}`;

test.each([
  ['gzip', 'gzip', gunzipSync],
  ['gzip, deflate, br', 'br', brotliDecompressSync],
  ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
] as const)('Accept-Encoding: %s gives %s, for a miss as for a hit', async (accepted, encoding, decode) => {
  const plain = await rawGet(long, {});
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.headers.vary).toContain('Accept-Encoding');
  for (let round = 0; round < 2; round += 1) {
    const reply = await rawGet(long, { 'accept-encoding': accepted });
    expect(reply.headers['content-encoding']).toBe(encoding);
    expect(Number(reply.headers['content-length'])).toBe(reply.body.length);
    expect(reply.body.length).toBeLessThan(plain.body.length / 4);
    expect(decode(reply.body).equals(plain.body)).toBe(true);
    expect(reply.headers.etag).not.toBe(plain.headers.etag);
    for (const etag of [String(reply.headers.etag), String(plain.headers.etag)])
      expect((await rawGet(long, { 'accept-encoding': accepted, 'if-none-match': etag })).status).toBe(304);
  }
});

test('small bodies, errors without a body and clients that refuse get it as it is', async () => {
  expect((await rawGet('/fixture/item/1', { 'accept-encoding': 'br' })).headers['content-encoding']).toBeUndefined();
  for (const accepted of ['identity', 'br;q=0, gzip;q=0.0', 'zstd', ''])
    expect((await rawGet(long, { 'accept-encoding': accepted })).headers['content-encoding']).toBeUndefined();
});

test('the OpenAPI document is compressed too', async () => {
  const reply = await rawGet('/openapi.json', { 'accept-encoding': 'br' });
  expect(JSON.parse(brotliDecompressSync(reply.body).toString())).toMatchObject({ openapi: '3.1.0' });
});
