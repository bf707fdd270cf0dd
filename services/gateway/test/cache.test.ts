import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { parseProtoFiles } from '../src/descriptors/parse-proto-files.ts';
import { type NodeCall, startFixtureNode } from './fixture-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

/** How many requests have reached the gateway from now on. */
function countRequests({ server }: TestGateway): () => number {
  let count = 0;
  server.server.on('request', () => {
    count += 1;
  });
  return () => count;
}

const cacheOf = (response: Response) => response.headers.get('x-cache');

test('an answer is kept for the life of a block, and its headers show it', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  const first = await gateway.get('/fixture/item/1');
  const second = await gateway.get('/fixture/item/1');
  expect([cacheOf(first), cacheOf(second)]).toEqual(['miss', 'hit']);
  expect(await second.text()).toBe(await first.text());
  expect(second.headers.get('x-cosmos-block-height')).toBe('100');
  expect(second.headers.get('cache-control')).toBe('public, max-age=60');
  expect(second.headers.get('vary')).toContain('X-Cosmos-Block-Height');
  expect(node.calls.length).toBe(1);
});

test('the entry ends with its time', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '30' });
  await gateway.get('/fixture/item/1');
  await sleep(40);
  expect(cacheOf(await gateway.get('/fixture/item/1'))).toBe('miss');
  expect(node.calls.length).toBe(2);
});

test('a pinned height has an entry of its own that lives longer', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '30' });
  const pinned = { 'x-cosmos-block-height': '7' };
  expect(cacheOf(await gateway.get('/fixture/item/1'))).toBe('miss');
  expect(cacheOf(await gateway.get('/fixture/item/1', pinned))).toBe('miss');
  await sleep(40);
  const again = await gateway.get('/fixture/item/1', pinned);
  expect([cacheOf(again), again.headers.get('x-cosmos-block-height')]).toEqual(['hit', '7']);
  expect(again.headers.get('cache-control')).toBe('public, max-age=3600');
});

test('what a node answers from its latest block whatever the height is not kept for longer', async () => {
  const live = `syntax = "proto3"; package cosmos.base.tendermint.v1beta1; import "google/api/annotations.proto";
    message M { string id = 1; }
    service Service { rpc GetLatestBlock(M) returns (M) { option (google.api.http).get = "/blocks/latest"; } }`;
  let code = 0;
  await using node = await startFixtureNode({
    files: (files) => [...files, ...parseProtoFiles([{ name: 'live.proto', text: live }])],
    reply: ({ request }) => (code ? { code, message: 'no' } : { message: request }),
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '30' });
  const askTwice = async (path: string) => {
    const pinned = { 'x-cosmos-block-height': '7' };
    await gateway.get(path, pinned);
    await sleep(40);
    return cacheOf(await gateway.get(path, pinned));
  };
  expect(await askTwice('/blocks/latest')).toBe('miss');
  expect(await askTwice('/fixture/item/1')).toBe('hit');
  code = 5;
  expect(await askTwice('/fixture/item/2')).toBe('miss');
});

test('a hit says how old it is', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  expect((await gateway.get('/fixture/item/1')).headers.get('age')).toBeNull();
  expect((await gateway.get('/fixture/item/1')).headers.get('age')).toBe('0');
  await sleep(1_100);
  const later = await gateway.get('/fixture/item/1');
  expect(Number(later.headers.get('age'))).toBeGreaterThan(0);
  expect(later.headers.get('cache-control')).toBe('public, max-age=60');
});

test('metadata that goes up is part of the key', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  for (const tenant of ['a', 'b', 'a']) await gateway.get('/fixture/item/1', { 'grpc-metadata-x-tenant': tenant });
  expect(node.calls.map(({ metadata }) => metadata.get('x-tenant')[0])).toEqual(['a', 'b']);
});

test('credentials in the metadata bypass the cache', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  const secret = { 'grpc-metadata-authorization': 'Bearer x' };
  expect(cacheOf(await gateway.get('/fixture/item/1', secret))).toBe('miss');
  expect(cacheOf(await gateway.get('/fixture/item/1', secret))).toBe('miss');
  expect(node.calls.length).toBe(2);
});

test('NOT_FOUND is kept, other errors are not', async () => {
  let code = 5;
  await using node = await startFixtureNode({ reply: () => ({ code, message: 'no' }) });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  expect(cacheOf(await gateway.get('/fixture/item/1'))).toBe('miss');
  const missing = await gateway.get('/fixture/item/1');
  expect([missing.status, cacheOf(missing)]).toEqual([404, 'hit']);
  code = 3;
  expect(cacheOf(await gateway.get('/fixture/item/2'))).toBe('miss');
  const refused = await gateway.get('/fixture/item/2');
  expect([refused.status, cacheOf(refused), refused.headers.get('cache-control')]).toEqual([400, 'miss', 'no-store']);
});

test.each(['60000', '0'])('equal requests at the same time share one call, with answers kept %s ms', async (ttl) => {
  const waiting: (() => void)[] = [];
  await using node = await startFixtureNode({
    reply: async (call) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { message: call.request };
    },
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: ttl });
  const received = countRequests(gateway);
  const requests = Array.from({ length: 5 }, () => gateway.get('/fixture/item/1'));
  await waitFor('the call', () => waiting.length > 0 && received() === 5);
  await sleep(50); // for the last one to join
  for (const go of waiting) go();
  const states = (await Promise.all(requests)).map(cacheOf).sort();
  expect(states).toEqual(['miss', 'shared', 'shared', 'shared', 'shared']);
  expect(node.calls.length).toBe(1);
  const later = gateway.get('/fixture/item/1');
  if (ttl === '0') await waitFor('another call', () => waiting.length === 2 && !waiting[1]?.());
  const { headers } = await later;
  expect([headers.get('x-cache'), headers.get('cache-control')]).toEqual(
    ttl === '0' ? ['miss', 'no-cache'] : ['hit', 'public, max-age=60'],
  );
});

test('the call is cancelled at the node when its last client leaves', async () => {
  const calls: NodeCall[] = [];
  await using node = await startFixtureNode({
    reply: (call) => {
      calls.push(call);
      return new Promise(() => undefined);
    },
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  const received = countRequests(gateway);
  const [first, second] = [new AbortController(), new AbortController()];
  const requests = [first, second].map(({ signal }) =>
    fetch(`${gateway.url}/fixture/item/1`, { signal }).catch(() => 'left'),
  );
  const call = await waitFor('the call', () => (received() === 2 ? calls[0] : undefined));
  await sleep(50); // for the second one to join
  first.abort();
  let cancelled = false;
  call.cancelled.then(() => (cancelled = true));
  await sleep(100);
  expect(cancelled).toBe(false);
  second.abort();
  await call.cancelled;
  expect(await Promise.all(requests)).toEqual(['left', 'left']);
});

test('an ETag that still holds is 304 without a body', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  const etag = (await gateway.get('/fixture/item/1')).headers.get('etag') ?? '';
  expect(etag).toMatch(/^"[\w-]+"$/);
  for (const given of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const response = await gateway.get('/fixture/item/1', { 'if-none-match': given });
    expect([response.status, await response.text()]).toEqual([304, '']);
    expect(response.headers.get('etag')).toBe(etag);
  }
  expect((await gateway.get('/fixture/item/1', { 'if-none-match': '"other"' })).status).toBe(200);
  expect((await gateway.get('/fixture/item/2', { 'if-none-match': etag })).status).toBe(200);
});

test('a stale answer replaces that of a node that is gone, for as long as allowed', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_CACHE_TTL_MS: '20',
    GATEWAY_STALE_IF_ERROR_MS: '60000',
  });
  const fresh = await gateway.get('/fixture/item/1');
  expect(fresh.headers.get('warning')).toBeNull();
  node.close();
  await sleep(30);
  const stale = await gateway.get('/fixture/item/1');
  expect([stale.status, stale.headers.get('warning')]).toEqual([200, '110 - "Response is Stale"']);
  expect(await stale.text()).toBe(await fresh.text());
  expect((await gateway.get('/fixture/item/2')).status).toBe(503);
});

test('without that setting the outage is an error', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '20' });
  await gateway.get('/fixture/item/1');
  node.close();
  await sleep(30);
  const response = await gateway.get('/fixture/item/1');
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({ code: 14, reason: 'UNAVAILABLE' });
});

test.each([
  ['Grpc-Metadata-X-Cosmos-Block-Height', '7', 'public, max-age=3600'],
  ['Grpc-Metadata-X-Tenant', 'a', 'private, max-age=60'],
])('a reply to %s names the header in Vary', async (name, value, control) => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  for (const state of ['miss', 'hit']) {
    const response = await gateway.get('/fixture/item/1', { [name]: value });
    expect([cacheOf(response), response.headers.get('cache-control')]).toEqual([state, control]);
    expect(response.headers.get('vary')?.split(', ')).toContain(name);
  }
  const plain = await gateway.get('/fixture/item/1');
  expect(cacheOf(plain)).toBe('miss');
  for (const shown of ['X-Cosmos-Block-Height', 'Grpc-Metadata-X-Cosmos-Block-Height', 'X-Min-Block-Height'])
    expect(plain.headers.get('vary')?.split(', ')).toContain(shown);
});

test.each([
  ['GATEWAY_FORWARD_AUTH', { GATEWAY_FORWARD_AUTH: 'true' }, 'Authorization'],
  ['no setting', {}, 'Grpc-Metadata-Authorization'],
  ['no setting', {}, 'Grpc-Metadata-Cookie'],
])('with %s, replies to anybody name the credentials that change them in Vary', async (_name, env, header) => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, ...env });
  const response = await gateway.get('/fixture/item/1');
  expect(response.headers.get('vary')?.split(', ')).toContain(header);
});

test('a header that an extension reads as the height is in Vary', async () => {
  await using node = await startFixtureNode();
  const extensions = { matchHeader: (name: string) => (name === 'x-at' ? 'x-cosmos-block-height' : undefined) };
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address }, { extensions });
  const response = await gateway.get('/fixture/item/1', { 'x-at': '5' });
  expect(response.headers.get('x-cosmos-block-height')).toBe('5');
  expect(response.headers.get('vary')?.split(', ')).toContain('X-At');
});

test('an answer from another height than was asked for is not kept', async () => {
  let tip = '100';
  const metadata = () => ({ 'x-cosmos-block-height': tip });
  await using node = await startFixtureNode({ reply: ({ request }) => ({ message: request, metadata: metadata() }) });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  const get = () => gateway.get('/fixture/item/1', { 'x-cosmos-block-height': '105' });
  for (const control of ['no-cache', 'no-cache']) {
    const early = await get();
    expect([cacheOf(early), early.headers.get('cache-control')]).toEqual(['miss', control]);
  }
  tip = '105';
  for (const state of ['miss', 'hit']) {
    const response = await get();
    expect([cacheOf(response), response.headers.get('cache-control')]).toEqual([state, 'public, max-age=3600']);
  }
});

test('replies to credentials are not kept by anybody', async () => {
  await using node = await startFixtureNode();
  const env = { GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000', GATEWAY_FORWARD_AUTH: 'true' };
  await using gateway = await startTestGateway(env);
  for (const name of ['Authorization', 'Grpc-Metadata-Cookie']) {
    const response = await gateway.get('/fixture/item/1', { [name]: 'mine' });
    expect(response.headers.get('cache-control')).toBe('no-store');
  }
});
