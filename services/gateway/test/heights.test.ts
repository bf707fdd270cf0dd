// Several nodes at different heights: a real chain's nodes are never all at the same block.
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { gatewayHealthSchema } from '@palaver/contract/internal';
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { parseProtoFiles } from '../src/descriptors/parse-proto-files.ts';
import { startFixtureNode } from './fixture-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const chainProto = `syntax = "proto3"; package cosmos.base.tendermint.v1beta1;
  message GetSyncingRequest {} message GetSyncingResponse { bool syncing = 1; }
  service Service { rpc GetSyncing(GetSyncingRequest) returns (GetSyncingResponse); }`;

interface ChainNode {
  height(): number;
  isSyncing?: () => boolean;
  /** Heights below are pruned. */
  earliest?: number;
}

/** A node whose item N exists from height N on. */
function startChainNode({ height, isSyncing = () => false, earliest = 1 }: ChainNode) {
  return startFixtureNode({
    files: (files) => [...files, ...parseProtoFiles([{ name: 'tendermint.proto', text: chainProto }])],
    reply: ({ method, request, metadata }) => {
      const latest = height();
      const reported = { 'x-cosmos-block-height': String(metadata.get('x-cosmos-block-height')[0] ?? latest) };
      if (method === 'GetSyncing') return { message: Uint8Array.from(isSyncing() ? [8, 1] : []), metadata: reported };
      const asked = Number(metadata.get('x-cosmos-block-height')[0] ?? latest);
      if (asked > latest)
        return { code: 3, message: 'cannot query with height in the future; please provide a valid height' };
      if (asked < earliest)
        return {
          code: 3,
          message: `failed to load state at height ${asked}; version does not exist (latest height: ${latest})`,
        };
      const reader = new BinaryReader(request);
      reader.tag();
      if (Number(reader.string()) > asked) return { code: 5, message: 'no such item' };
      return { message: request, metadata: reported };
    },
  });
}

/** A client with one connection that is kept open. */
function createClient(gateway: TestGateway) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; height: number }>((resolve, reject) => {
      httpRequest(gateway.url + path, { agent, headers }, (response) => {
        response.resume();
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            height: Number(response.headers['x-cosmos-block-height'] ?? Number.NaN),
          }),
        );
      })
        .on('error', reject)
        .end();
    });
  return { get, close: () => agent.destroy() };
}

/** Asks for the item that the last answer's height has made; counts what a client must never see. */
async function watchClient(gateway: TestGateway, rounds: number) {
  const client = createClient(gateway);
  const seen = { backwards: 0, missing: 0, statuses: new Set<number>(), heights: new Set<number>() };
  let last = 1;
  for (let round = 0; round < rounds; round += 1) {
    const { status, height } = await client.get(`/fixture/item/${last}?note=${round % 7}`);
    seen.statuses.add(status);
    if (status === 404) seen.missing += 1;
    if (height < last) seen.backwards += 1;
    if (status === 200) seen.heights.add(height);
    last = Math.max(last, height || 0);
    await sleep(2);
  }
  client.close();
  return seen;
}

const blockMs = 60;
const growing = (behind: number) => () => Math.floor(Date.now() / blockMs) - behind;

async function readHealth(gateway: TestGateway) {
  return gatewayHealthSchema.parse(await (await gateway.get('/health')).json());
}

async function startPair(nodes: { address: string }[], env: Record<string, string> = {}) {
  const gateway = await startTestGateway({ GATEWAY_UPSTREAMS: nodes.map(({ address }) => address).join(), ...env });
  await waitFor('the heights', async () =>
    (await readHealth(gateway)).upstreams.every(({ height }) => height !== null),
  );
  return gateway;
}

test.each(['0', '1000'])('a node that is catching up is not asked, with answers kept %s ms', async (ttl) => {
  await using synced = await startChainNode({ height: growing(0) });
  await using behind = await startChainNode({ height: growing(1_400), isSyncing: () => true });
  await using gateway = await startPair([synced, behind], { GATEWAY_CACHE_TTL_MS: ttl });
  const before = behind.calls.filter(({ method }) => method === 'Item').length;
  const seen = await Promise.all(Array.from({ length: 4 }, () => watchClient(gateway, 100)));
  for (const client of seen) {
    expect(client).toMatchObject({ backwards: 0, missing: 0, statuses: new Set([200]) });
    expect(client.heights.size).toBeGreaterThan(ttl === '0' ? 3 : 0);
  }
  expect(behind.calls.filter(({ method }) => method === 'Item').length).toBe(before);
  expect((await readHealth(gateway)).upstreams).toMatchObject([
    { healthy: true, catchingUp: false },
    { healthy: false, catchingUp: true },
  ]);
});

test('a node that lags beyond the limit without knowing it is not asked, and comes back', async () => {
  let lag = 500;
  await using first = await startChainNode({ height: growing(0) });
  await using second = await startChainNode({ height: () => growing(lag)() });
  await using gateway = await startPair([first, second], { GATEWAY_CACHE_TTL_MS: '0' });
  const asked = () => second.calls.filter(({ method }) => method === 'Item').length;
  const before = asked();
  expect(await watchClient(gateway, 60)).toMatchObject({ backwards: 0, missing: 0, statuses: new Set([200]) });
  expect(asked()).toBe(before);
  lag = 0;
  await waitFor('the return', async () => {
    await gateway.get(`/fixture/item/1`);
    return asked() > before;
  });
});

test.each(['0', '1000'])('nodes a block apart never take a client back, with answers kept %s ms', async (ttl) => {
  await using first = await startChainNode({ height: growing(0) });
  await using second = await startChainNode({ height: growing(1) });
  await using gateway = await startPair([first, second], { GATEWAY_CACHE_TTL_MS: ttl });
  const seen = await Promise.all(Array.from({ length: 4 }, () => watchClient(gateway, 100)));
  for (const client of seen) expect(client).toMatchObject({ backwards: 0, missing: 0, statuses: new Set([200]) });
});

test('a client on several connections names the height it has seen', async () => {
  await using first = await startChainNode({ height: () => 1_000 });
  await using second = await startChainNode({ height: () => 999 });
  await using gateway = await startPair([first, second], { GATEWAY_CACHE_TTL_MS: '0' });
  const heights = [];
  for (let round = 0; round < 20; round += 1) {
    const client = createClient(gateway);
    heights.push((await client.get('/fixture/item/1', { 'x-min-block-height': '1000' })).height);
    client.close();
  }
  expect(new Set(heights)).toEqual(new Set([1_000]));
  const bad = await gateway.get('/fixture/item/1', { 'x-min-block-height': 'soon' });
  expect(bad.status).toBe(400);
  const ahead = await gateway.get('/fixture/item/1', { 'x-min-block-height': '5000', 'grpc-timeout': '3S' });
  expect([ahead.status, ahead.headers.get('retry-after')]).toEqual([503, '1']);
});

test('a height that one node has pruned or not reached yet is answered by another', async () => {
  await using full = await startChainNode({ height: () => 1_000 });
  await using pruned = await startChainNode({ height: () => 1_002, earliest: 900 });
  await using gateway = await startPair([full, pruned], { GATEWAY_CACHE_TTL_MS: '0' });
  for (let round = 0; round < 20; round += 1) {
    for (const height of ['5', '1002', '950'])
      expect((await gateway.get('/fixture/item/1', { 'x-cosmos-block-height': height })).status).toBe(200);
  }
  const nowhere = await gateway.get('/fixture/item/1', { 'x-cosmos-block-height': '2000' });
  expect(nowhere.status).toBe(400);
  expect(await nowhere.json()).toMatchObject({ message: expect.stringContaining('height in the future') });
});

test('nodes that are all catching up are still asked; a halted chain is shown', async () => {
  let height = 500;
  await using node = await startChainNode({ height: () => height, isSyncing: () => true });
  await using gateway = await startPair([node], { GATEWAY_CACHE_TTL_MS: '0', GATEWAY_HALTED_AFTER_MS: '1500' });
  expect((await gateway.get('/fixture/item/1')).status).toBe(200);
  const health = await waitFor('the halt', async () => {
    const seen = await readHealth(gateway);
    return seen.halted ? seen : undefined;
  });
  expect(health).toMatchObject({ status: 'degraded', height: 500, upstreams: [{ height: 500, catchingUp: true }] });
  expect(health.blockAgeSeconds).toBeGreaterThan(0);
  const metrics = await (await gateway.get('/metrics')).text();
  expect(metrics).toMatch(/gateway_upstream_catching_up\{[^}]*\} 1/);
  expect(metrics).toMatch(/gateway_upstream_height\{[^}]*\} 500/);
  expect(metrics).toMatch(/gateway_chain_halted\{[^}]*\} 1/);
  expect(metrics).toMatch(/gateway_block_age_seconds\{[^}]*\} [1-9]/);
  height = 501;
  await waitFor('the next block', async () => !(await readHealth(gateway)).halted);
});

test('a node that came back on a lower height is followed after a while, not refused for ever', async () => {
  let height = 1_000;
  await using node = await startChainNode({ height: () => height });
  await using gateway = await startPair([node], { GATEWAY_CACHE_TTL_MS: '0' });
  const client = createClient(gateway);
  expect((await client.get('/fixture/item/1')).height).toBe(1_000);
  height = 10;
  await waitFor('the new chain', async () => (await client.get('/fixture/item/1')).height === 10);
  client.close();
});

const notReady =
  'rpc error: code = Unknown desc = context did not contain latest block height in either check state or finalize block state (0)';

test('a node that has no block yet is not asked, and what it answers is asked again elsewhere', async () => {
  await using first = await startChainNode({ height: growing(0) });
  await using second = await startFixtureNode({
    files: (files) => [...files, ...parseProtoFiles([{ name: 'tendermint.proto', text: chainProto }])],
    reply: () => ({ code: 2, message: notReady }),
  });
  const env = { GATEWAY_UPSTREAMS: `${first.address},${second.address}`, GATEWAY_CACHE_TTL_MS: '0' };
  await using gateway = await startTestGateway(env);
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async (_, round) => (await gateway.get(`/fixture/item/1?note=${round}`)).status),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  await waitFor('the verdict', async () => (await readHealth(gateway)).upstreams[1]?.healthy === false);
  first.close();
  const alone = await waitFor('only the second', async () => {
    const response = await gateway.get('/fixture/item/1');
    return response.status === 503 ? response : undefined;
  });
  expect(alone.headers.get('retry-after')).toBe('1');
});

test('the words of a client in an error of the node neither change the error nor set the node aside', async () => {
  const reply = (code: number, text: string) => ({ code, message: text });
  let answer = reply(5, '');
  await using node = await startFixtureNode({
    reply: ({ method }) => (method === 'Item' ? answer : { message: new Uint8Array() }),
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '0' });
  const words = ['context did not contain latest block height', 'ixo is not ready; please wait for first block'];
  for (const text of words) {
    for (const [code, message, status] of [
      [5, text, 404],
      [3, `rpc error: code = Unknown desc = ${text}`, 400],
      [2, `no metadata for denom ${text}`, 500],
    ] as const) {
      answer = reply(code, message);
      expect((await gateway.get('/fixture/item/1')).status).toBe(status);
      expect((await readHealth(gateway)).status).toBe('ok');
    }
    // Even in the node's own words, a call of a client is no reason to send others elsewhere.
    answer = reply(2, text);
    expect((await gateway.get('/fixture/item/1')).status).toBe(503);
    expect((await readHealth(gateway)).status).toBe('ok');
  }
});

test('clients that give up early leave the only node in service', async () => {
  await using node = await startFixtureNode({
    reply: ({ method, cancelled }) =>
      method === 'Item' ? cancelled.then(() => ({ code: 1, message: 'cancelled' })) : { message: new Uint8Array() },
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '0' });
  const slow = () => gateway.get('/fixture/item/slow', { 'grpc-timeout': '150m' });
  for (let round = 0; round < 12; round += 1) {
    expect((await slow()).status).toBe(504);
    expect((await gateway.get('/ready')).status).toBe(200);
    expect((await readHealth(gateway)).upstreams).toMatchObject([{ healthy: true }]);
  }
});

test('a node whose height nobody asks for is not taken for lagging for ever', async () => {
  const startSilent = (node: { height: () => number }) =>
    startFixtureNode({
      reply: ({ request }) => ({ message: request, metadata: { 'x-cosmos-block-height': String(node.height()) } }),
    });
  await using first = await startSilent({ height: growing(0) });
  await using second = await startSilent({ height: growing(0) });
  const env = { GATEWAY_UPSTREAMS: `${first.address},${second.address}`, GATEWAY_CACHE_TTL_MS: '0' };
  await using gateway = await startTestGateway(env);
  const asked = () => [first, second].map(({ calls }) => calls.filter(({ method }) => method === 'Item').length);
  await waitFor('a call to each', async () => {
    await gateway.get('/fixture/item/1');
    return asked().every((count) => count > 0);
  });
  for (let round = 0; round < 3; round += 1) {
    const before = asked();
    await waitFor('more calls to each', async () => {
      await gateway.get('/fixture/item/1');
      await sleep(20);
      return asked().every((count, index) => count > (before[index] ?? 0) + 3);
    });
  }
});

test('a client that names a height is not answered from an older entry', async () => {
  await using node = await startChainNode({ height: () => 100 });
  await using gateway = await startPair([node], { GATEWAY_CACHE_TTL_MS: '60000' });
  expect((await gateway.get('/fixture/item/1')).status).toBe(200);
  const ahead = await gateway.get('/fixture/item/1', { 'x-min-block-height': '101', 'grpc-timeout': '1S' });
  expect([ahead.status, ahead.headers.get('retry-after')]).toEqual([503, '1']);
});

test('a client that has seen a given height is not taken back by a kept answer', async () => {
  let height = 100;
  await using node = await startChainNode({ height: () => height });
  await using gateway = await startPair([node], { GATEWAY_CACHE_TTL_MS: '60000' });
  const client = createClient(gateway);
  expect((await client.get('/fixture/item/1')).height).toBe(100);
  height = 101;
  await waitFor('the next block', async () => (await readHealth(gateway)).height === 101);
  expect((await client.get('/fixture/item/1', { 'x-cosmos-block-height': '101' })).height).toBe(101);
  expect((await client.get('/fixture/item/1')).height).toBe(101);
  expect((await client.get('/fixture/item/1', { 'x-cosmos-block-height': '5' })).height).toBe(5);
  expect((await client.get('/fixture/item/1')).height).toBe(101);
  client.close();
});

test('requests that are sent before the last reply are not answered from an older height', async () => {
  let release = () => {};
  const slow = new Promise<void>((resolve) => (release = resolve));
  let height = 100;
  await using node = await startFixtureNode({
    reply: async ({ request }) => {
      if (Buffer.from(request).includes('slow')) await slow;
      return { message: request, metadata: { 'x-cosmos-block-height': String(height) } };
    },
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  const heights = (text: string) => [...text.matchAll(/\r\nx-cosmos-block-height: (\d+)/g)].map(([, digits]) => digits);
  await gateway.get('/fixture/item/kept');
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  for (const id of ['slow', 'fast', 'kept'])
    socket.write(`GET /fixture/item/${id} HTTP/1.1\r\nhost: x.localhost\r\n\r\n`);
  await sleep(300);
  height = 101;
  release();
  await waitFor('three answers', () => heights(text).length === 3);
  socket.destroy();
  expect(heights(text)).toEqual(['101', '101', '101']);
});

test('a height far above the chain is refused at once, one that is near is waited for without asking', async () => {
  let height = 1_000;
  await using node = await startChainNode({ height: () => height });
  await using gateway = await startPair([node], { GATEWAY_CACHE_TTL_MS: '0' });
  const asked = () => node.calls.filter(({ method }) => method === 'Item').length;
  const far = await gateway.get('/fixture/item/1', { 'x-min-block-height': '999999999' });
  expect([far.status, far.headers.get('retry-after')]).toEqual([503, '1']);
  expect(asked()).toBe(0);
  const near = gateway.get('/fixture/item/1', { 'x-min-block-height': '1001' });
  await sleep(200);
  height = 1_001;
  expect((await near).status).toBe(200);
  expect(asked()).toBeLessThan(3);
});

test.each([
  ['HEAD', 'HEAD /fixture/item/2'],
  ['a path of before', 'GET /old/item/3'],
  ['another query', 'GET /fixture/item/4'],
])('an answer does not go back behind %s before it on its connection', async (_name, first) => {
  let height = 100;
  const metadata = () => ({ 'x-cosmos-block-height': String(height) });
  await using node = await startFixtureNode({ reply: ({ request }) => ({ message: request, metadata: metadata() }) });
  await using gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_CACHE_TTL_MS: '60000',
    GATEWAY_LEGACY_PREFIXES: '/old',
    GATEWAY_SOURCE_PREFIX: '/fixture',
    GATEWAY_PREFIX: '/fixture',
  });
  await (await gateway.get('/fixture/item/kept')).text();
  height = 101;
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  socket.write(`${first} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  socket.write('GET /fixture/item/kept HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const seen = () => [...text.matchAll(/\r\nx-cosmos-block-height: (\d+)/gi)].map(([, digits]) => digits);
  await waitFor('both answers', () => seen().length === 2);
  expect(seen()).toEqual(['101', '101']);
  socket.destroy();
});
