import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { DirectSecp256k1HdWallet } from '@cosmjs/proto-signing';
import { coins, SigningStargateClient } from '@cosmjs/stargate';
import { Comet38Client, WebsocketClient } from '@cosmjs/tendermint-rpc';
import { createLogger } from '@palaver/service-kit';
import { waitFor } from '@palaver/test-kit';
import { startTcpProxy } from '@palaver/test-kit/servers';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { authorizeApiKey } from '../src/auth.ts';
import { createSubscriptions } from '../src/rpc/subscriptions.ts';
import { startFixtureNode } from './fixture-node.ts';
import { recorded, startRpcNode } from './rpc-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

async function startPair(env: Record<string, string> = {}) {
  const node = await startFixtureNode();
  const rpc = await startRpcNode();
  const gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_RPC: rpc.url, ...env });
  return {
    rpc,
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await rpc[Symbol.asyncDispose]();
      node.close();
    },
  };
}

const post = (gateway: TestGateway, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** A client socket that keeps what it gets. */
async function openSocket(gateway: TestGateway, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/rpc/websocket`, { headers });
  const received: { id: unknown; result?: { query?: string; data?: unknown }; error?: { data?: string } }[] = [];
  const state = { closed: 0 };
  socket.on('message', (data) => received.push(JSON.parse(String(data))));
  socket.on('close', (code) => (state.closed = code));
  await once(socket, 'open');
  const send = (id: unknown, method: string, params: unknown = {}) =>
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  return { socket, received, state, send };
}

test('an unmodified cosmjs client sends a transfer and follows blocks through the gateway', async () => {
  await using pair = await startPair();
  const wallet = await DirectSecp256k1HdWallet.fromMnemonic(recorded.mnemonic, { prefix: 'wasm' });
  const client = await SigningStargateClient.connectWithSigner(`${pair.gateway.url}/rpc`, wallet, {
    broadcastPollIntervalMs: 50,
  });
  expect(await client.getHeight()).toBeGreaterThan(0);
  const { address } = recorded;
  expect(await client.getBalance(address, 'stake')).toMatchObject({ denom: 'stake' });
  const fee = { amount: coins(0, 'stake'), gas: '200000' };
  const sent = await client.sendTokens(address, address, coins(7, 'stake'), fee, 'palaver');
  expect(sent).toMatchObject({ code: 0, transactionHash: recorded.hash });
  client.disconnect();

  const websocket = new WebsocketClient(`${pair.gateway.url.replace('http', 'ws')}/rpc`);
  const comet = Comet38Client.create(websocket);
  expect((await comet.status()).nodeInfo.network).toBe('test-1');
  const headers: number[] = [];
  const subscription = comet.subscribeNewBlockHeader().subscribe({ next: ({ height }) => headers.push(height) });
  const query = "tm.event='NewBlockHeader'";
  await waitFor('the subscription', () => pair.rpc.subscribed.length === 1);
  await waitFor('two headers', () => {
    pair.rpc.emit(query, newHeader(headers.length + 1));
    return headers.length >= 2;
  });
  subscription.unsubscribe();
  comet.disconnect();
  await waitFor('the end upstream', () => pair.rpc.subscribed.length === 0);
});

function newHeader(height: number) {
  const hash = 'AB'.repeat(32);
  const header = {
    version: { block: '11' },
    chain_id: 'test-1',
    height: String(height),
    time: '2026-01-02T03:04:05.123456789Z',
    last_block_id: { hash, parts: { total: 1, hash } },
    last_commit_hash: hash,
    data_hash: hash,
    validators_hash: hash,
    next_validators_hash: hash,
    consensus_hash: hash,
    app_hash: hash,
    last_results_hash: hash,
    evidence_hash: hash,
    proposer_address: 'AB'.repeat(20),
  };
  return { type: 'tendermint/event/NewBlockHeader', value: { header } };
}

test('one subscription at the node serves any number of clients, each under its own id', async () => {
  await using pair = await startPair();
  const query = "tm.event='Tx' AND transfer.recipient='x'";
  const clients = await Promise.all(Array.from({ length: 5 }, () => openSocket(pair.gateway)));
  for (const [index, { send }] of clients.entries()) send(`client-${index}`, 'subscribe', { query });
  await waitFor('the confirmations', () => clients.every(({ received }) => received.length === 1));
  expect(pair.rpc.subscribed.length).toBe(1);
  pair.rpc.emit(query, { type: 'tendermint/event/Tx', value: { height: '9' } });
  await waitFor('the event', () => clients.every(({ received }) => received.length === 2));
  for (const [index, { received }] of clients.entries())
    expect(received[1]).toMatchObject({ id: `client-${index}`, result: { query, data: { value: { height: '9' } } } });
  for (const { socket } of clients.slice(1)) socket.close();
  clients[0]?.send(9, 'unsubscribe', { query });
  await waitFor('the end upstream', () => pair.rpc.subscribed.length === 0);

  clients[0]?.send(10, 'subscribe', { query: 'nonsense' });
  await waitFor('the refusal', () => clients[0]?.received.some(({ error }) => error?.data === 'bad query'));
  clients[0]?.send(11, 'subscribe', { query });
  await waitFor('a new one', () => pair.rpc.subscribed.length === 1);
  await pair.rpc[Symbol.asyncDispose]();
  await waitFor('the loss', () => clients[0]?.state.closed === 1012);
});

test('methods outside the list are refused, over both transports; what is no JSON-RPC too', async () => {
  await using pair = await startPair();
  for (const method of ['net_info', 'genesis', 'dump_consensus_state', 'unsafe_flush_mempool', 'dial_peers']) {
    const response = await post(pair.gateway, { jsonrpc: '2.0', id: 7, method, params: {} });
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32601 } });
  }
  const { received, send, socket } = await openSocket(pair.gateway);
  send(1, 'net_info');
  socket.send('{not json');
  await waitFor('the refusals', () => received.length === 2);
  expect(received).toMatchObject([{ id: 1, error: { code: -32601 } }, { error: { code: -32700 } }]);
  socket.close();
  expect((await post(pair.gateway, '{broken')).status).toBe(400);
  expect(await (await post(pair.gateway, '"text"')).json()).toMatchObject({ error: { code: -32600 } });
  const batch = Array.from({ length: 21 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'status' }));
  expect((await post(pair.gateway, batch)).status).toBe(400);
  expect(await (await post(pair.gateway, batch.slice(0, 3))).json()).toMatchObject([{ id: 0 }, { id: 1 }, { id: 2 }]);
  expect(pair.rpc.calls.every(({ method }) => method === 'status')).toBe(true);
  expect((await post(pair.gateway, `"${'x'.repeat(1_100_000)}"`)).status).toBe(413);
});

test('answers about a given height are kept, others are not', async () => {
  await using pair = await startPair();
  const ask = async (params: object) =>
    (await post(pair.gateway, { jsonrpc: '2.0', id: 1, method: 'block', params })).json();
  for (let round = 0; round < 3; round += 1) expect(await ask({ height: '5' })).toMatchObject({ id: 1 });
  expect(pair.rpc.calls.length).toBe(1);
  for (let round = 0; round < 3; round += 1) await ask({});
  expect(pair.rpc.calls.length).toBe(4);
});

test('the same keys and limits hold; without the variable there is nothing', async () => {
  const key = { name: 'a', sha256: '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683' }; // "key"
  await using node = await startFixtureNode();
  await using rpc = await startRpcNode();
  await using gateway = await startTestGateway(
    {
      GATEWAY_UPSTREAMS: node.address,
      GATEWAY_RPC: rpc.url,
      GATEWAY_AUTH: 'api-key',
      GATEWAY_API_KEYS_FILE: 'given',
      GATEWAY_RATE_LIMIT_PER_MINUTE: '30',
    },
    { authorize: authorizeApiKey([key]) },
  );
  const status = { jsonrpc: '2.0', id: 1, method: 'status', params: {} };
  expect((await post(gateway, status)).status).toBe(401);
  expect((await post(gateway, status, { 'x-api-key': 'key' })).status).toBe(200);
  expect((await gateway.get('/events')).status).toBe(401);
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/rpc/websocket`);
  const failed = new Promise((resolve) => (socket.onerror = resolve));
  await failed;
  const statuses = new Set<number>();
  for (let round = 0; round < 40; round += 1)
    statuses.add((await post(gateway, status, { 'x-api-key': 'key' })).status);
  expect(statuses).toContain(429);

  await using plain = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  expect((await post(plain, status)).status).toBe(404);
  expect((await plain.get('/events')).status).toBe(404);
});

test('every message of a socket and every request of a batch counts for its key and its address', async () => {
  const key = { name: 'a', sha256: '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683', perMinute: 12 };
  await using node = await startFixtureNode();
  await using rpc = await startRpcNode();
  const env = { GATEWAY_UPSTREAMS: node.address, GATEWAY_RPC: rpc.url };
  const keyed = { ...env, GATEWAY_AUTH: 'api-key', GATEWAY_API_KEYS_FILE: 'given' };
  const headers = { 'x-api-key': 'key' };
  const status = { jsonrpc: '2.0', id: 1, method: 'status', params: {} };
  const batch = Array.from({ length: 20 }, () => status);
  const talk = async (gateway: TestGateway) => {
    const { received, send, state } = await openSocket(gateway, headers);
    for (let round = 0; round < 20 && state.closed === 0; round += 1) {
      send(round, 'health');
      await waitFor('an answer or the end', () => received.length > round || state.closed > 0);
    }
    return { answers: received.length, closed: state.closed };
  };

  await using first = await startTestGateway(keyed, { authorize: authorizeApiKey([key]) });
  expect(await talk(first)).toEqual({ answers: 11, closed: 1013 });
  expect((await post(first, status, headers)).status).toBe(429);
  await using second = await startTestGateway(keyed, { authorize: authorizeApiKey([key]) });
  expect((await post(second, batch, headers)).status).toBe(429);

  await using third = await startTestGateway({ ...env, GATEWAY_RATE_LIMIT_PER_MINUTE: '12' });
  expect(await talk(third)).toEqual({ answers: 11, closed: 1013 });
  expect((await post(third, status)).status).toBe(429);
  await using fourth = await startTestGateway({ ...env, GATEWAY_RATE_LIMIT_PER_MINUTE: '12' });
  expect((await post(fourth, batch)).status).toBe(429);
});

test('events come as a stream to whoever asks with HTTP alone', async () => {
  await using pair = await startPair();
  const query = "tm.event='Tx'";
  const response = await pair.gateway.get(`/events?query=${encodeURIComponent(query)}`);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  pair.rpc.emit(query, { type: 'tendermint/event/Tx', value: { height: '3' } });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!/data:.*\n\n/.test(text)) text += Buffer.from((await reader.read()).value ?? []).toString();
  expect(text).toContain('event: Tx\ndata: {"query":"tm.event=\'Tx\'","data":{"type":"tendermint/event/Tx"');
  expect((await pair.gateway.get('/events?query=nonsense')).status).toBe(400);
  // The stream ends with the gateway, which does not wait for it.
  await pair.gateway[Symbol.asyncDispose]();
  while (!(await reader.read()).done);
  await waitFor('the end upstream', () => pair.rpc.subscribed.length === 0);
});

test('a node that is unreachable is reported', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_RPC: 'http://127.0.0.1:1' });
  const response = await post(gateway, { jsonrpc: '2.0', id: 1, method: 'status', params: {} });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({ error: { message: 'the node cannot be reached' } });
});

test('GET in URI style is forwarded unchanged, with the same list, cache and limits', async () => {
  await using pair = await startPair({ GATEWAY_RATE_LIMIT_PER_MINUTE: '12' });
  const { gateway, rpc } = pair;
  const status = await gateway.get('/rpc/status');
  expect([status.status, status.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(await status.json()).toMatchObject({ jsonrpc: '2.0', id: -1, result: { node_info: { network: 'test-1' } } });
  for (const height of ['7', '7', '"8"']) {
    const block = (await (await gateway.get(`/rpc/block?height=${encodeURIComponent(height)}`)).json()) as object;
    expect(block).toMatchObject({ result: { block: { header: { height: height.replaceAll('"', '') } } } });
  }
  expect(rpc.calls.filter(({ method }) => method === 'block')).toHaveLength(2);
  const failed = await gateway.get('/rpc/tx?hash=0x00');
  expect([failed.status, await failed.json()]).toMatchObject([500, { id: -1, error: { data: 'none' } }]);
  for (const path of ['net_info', 'subscribe?query="x"', 'unsubscribe_all', 'x%2f..%2fstatus'])
    expect((await gateway.get(`/rpc/${path}`)).status).toBe(404);
  expect(rpc.calls.every(({ method }) => ['status', 'block', 'tx'].includes(method))).toBe(true);
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await gateway.get('/rpc/health')).status));
  expect(statuses).toContain(429);
  await rpc[Symbol.asyncDispose]();
});

test.each([
  ['unsubscribe', { query: { toString: 1 } }],
  ['block', { height: { toString: 1 } }],
])('%s with a value that has no text does not end the process', async (method, params) => {
  await using pair = await startPair();
  const { received, send } = await openSocket(pair.gateway);
  send('hostile', method, params);
  send('after', 'status');
  await waitFor('both answers', () => received.length === 2);
  expect(received.map(({ id }) => id).sort()).toEqual(['after', 'hostile']);
});

test('a page of another origin neither opens the RPC socket nor writes by GET', async () => {
  await using pair = await startPair({ CORS_ORIGIN: 'https://app.example' });
  const shake = (origin: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        origin,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      };
      const request = get(`${pair.gateway.url}/rpc/websocket`, { headers });
      request.on('error', reject);
      request.on('response', (response) => {
        response.destroy();
        resolve(response.statusCode);
      });
      request.on('upgrade', ({ statusCode }, socket) => {
        socket.destroy();
        resolve(statusCode);
      });
    });
  expect(await shake('https://evil.example')).toBe(403);
  expect(await shake('https://app.example')).toBe(101);
  expect(await shake(pair.gateway.url)).toBe(101);

  // An image of any page is such a request, and over plain HTTP nothing says where it comes from.
  for (const method of ['broadcast_tx_sync', 'broadcast_tx_async'])
    expect((await pair.gateway.get(`/rpc/${method}?tx=0x00`)).status).toBe(404);
  expect(pair.rpc.calls.filter(({ method }) => method.startsWith('broadcast'))).toEqual([]);
});

test.each([
  ['/rpc/websocket', 'Origin: https://evil.example', 403],
  ['/health', 'Accept: */*', 200],
])('a handshake with %s that opens no socket ends its connection', async (path, header, status) => {
  await using pair = await startPair();
  const socket = connect(Number(new URL(pair.gateway.url).port), '127.0.0.1');
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    header,
    'Connection: Upgrade',
    'Upgrade: websocket',
    '',
    '',
  ];
  socket.write(lines.join('\r\n'));
  let reply = '';
  for await (const chunk of socket) reply += chunk;
  expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test('one client address cannot take the subscriptions of the others', async () => {
  await using pair = await startPair({ TRUST_PROXY_ENABLED: 'true' });
  const { gateway, rpc } = pair;
  const query = (index: number) => `tm.event='Tx' AND tx.height=${index}`;
  // Addresses of one /64 are one client.
  const sockets = await Promise.all(
    Array.from({ length: 10 }, (_, index) => openSocket(gateway, { 'x-forwarded-for': `2001:db8::${index + 1}` })),
  );
  for (const [index, { send }] of sockets.entries())
    for (let n = 0; n < 10; n += 1) send(n, 'subscribe', { query: query(10 * index + n) });
  await waitFor('every answer', () => sockets.every(({ received }) => received.length === 10));
  expect(rpc.subscribed).toHaveLength(20);
  const refusals = sockets.flatMap(({ received }) => received).filter(({ error }) => error);
  expect(refusals).toHaveLength(80);
  expect(refusals[0]).toMatchObject({ error: { code: -32603, data: 'at most 20 different queries from one address' } });

  const events = (text: string, address: string) =>
    gateway.get(`/events?query=${encodeURIComponent(text)}`, { 'x-forwarded-for': address });
  const refused = await events(query(500), '2001:db8::ff');
  expect([refused.status, await refused.json()]).toMatchObject([429, { reason: 'LIMIT_REACHED' }]);
  const other = await events(query(500), '192.0.2.7');
  expect(other.status).toBe(200);
  await other.body?.cancel();
  // A query that this client has already costs the node nothing, and one that it gave up makes room.
  const [first, second] = [sockets[0], sockets[2]];
  second?.send('shared', 'subscribe', { query: query(0) });
  first?.send('left', 'unsubscribe', { query: query(1) });
  await waitFor('both', () => second?.received.length === 11 && first?.received.length === 11);
  expect(second?.received.at(-1)).toMatchObject({ id: 'shared', result: {} });
  second?.send('new', 'subscribe', { query: query(501) });
  await waitFor('the new one', () => second?.received.length === 12);
  expect(second?.received.at(-1)).toMatchObject({ id: 'new', result: {} });
  const metrics = await (await gateway.get('/metrics')).text();
  expect(metrics).toContain('gateway_rpc_subscriptions_refused_total{reason="client",service="gateway"} 81');
  for (const { socket } of sockets) socket.close();
  await waitFor('the end upstream', () => rpc.subscribed.length === 0);
  expect(await (await gateway.get('/metrics')).text()).toContain('gateway_rpc_subscriptions{service="gateway"} 0');

  const long = await events(`tm.event='${'x'.repeat(600)}'`, '192.0.2.8');
  expect([long.status, rpc.subscribed]).toEqual([400, []]);
});

test('a client that leaves before the node confirms keeps no subscription', async () => {
  await using pair = await startPair();
  const { gateway, rpc } = pair;
  const query = "tm.event='Tx'";
  const { send, received, socket } = await openSocket(gateway);
  for (const method of ['subscribe', 'unsubscribe', 'subscribe']) send(method, method, { query });
  await waitFor('the answers', () => received.length >= 2 && rpc.subscribed.length === 1);
  socket.close();
  await waitFor('the end upstream', () => rpc.subscribed.length === 0);

  const confirm = Promise.withResolvers<void>();
  rpc.confirmation.until = confirm.promise;
  const closed = new Promise((resolve) =>
    gateway.server.server.once('connection', (raw) => raw.once('close', resolve)),
  );
  const request = get(`${gateway.url}/events`, { agent: false }).on('error', () => undefined);
  await waitFor('the request upstream', () => rpc.confirmation.awaited === 1);
  request.destroy();
  await closed;
  confirm.resolve();
  await waitFor('the confirmation', () => rpc.confirmation.awaited === 0);
  await waitFor('the end upstream', () => rpc.subscribed.length === 0);
});

test('an answer that may still change is not kept', async () => {
  await using pair = await startPair();
  const { rpc, gateway } = pair;
  const calls: [string, Record<string, unknown>, unknown, unknown][] = [
    ['block_by_hash', { hash: 'QUJD' }, { block_id: {}, block: null }, { block_id: {}, block: { header: {} } }],
    ['header_by_hash', { hash: 'QUJD' }, { header: null }, { header: { height: '5' } }],
    [
      'abci_query',
      { path: '/a', height: '5' },
      { response: { code: 18, height: '5' } },
      { response: { code: 0, height: '5' } },
    ],
    [
      'abci_query',
      { path: '/b', height: '9' },
      { response: { code: 0, height: '7' } },
      { response: { code: 0, height: '9' } },
    ],
  ];
  for (const [method, params, early, final] of calls) {
    const ask = async () => {
      const { result } = (await (await post(gateway, { id: 1, method, params })).json()) as { result: unknown };
      return result;
    };
    rpc.results.set(method, early);
    expect(await ask()).toEqual(early);
    rpc.results.set(method, final);
    expect(await ask()).toEqual(final);
    rpc.results.delete(method);
    expect(await ask()).toEqual(final);
  }
});

/** The RPC of a node behind a proxy that answers with what it likes. */
async function startRpcProxy(first: { status?: number; text: string }) {
  let reply: { status?: number; text: string } = first;
  const proxy = createServer((_request, response) => {
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' }).end(reply.text);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const node = await startFixtureNode();
  const { port } = proxy.address() as AddressInfo;
  const env = { GATEWAY_UPSTREAMS: node.address, GATEWAY_RPC: `http://127.0.0.1:${port}` };
  const gateway = await startTestGateway(env);
  return {
    gateway,
    answer: (text: string, status = 200) => (reply = { text, status }),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      proxy.closeAllConnections();
      proxy.close();
      node.close();
    },
  };
}

const rpcText = (result: unknown) => JSON.stringify({ jsonrpc: '2.0', id: -1, result });

test.each([
  ['429 of a gateway', '/rpc/block?height=5', 429, '{"message":"API rate limit exceeded"}'],
  ['503 of a load balancer', '/rpc/tx?hash=0xAB', 503, '{"message":"no healthy upstream"}'],
  ['an empty object', '/rpc/validators?height=6', 200, '{}'],
  ['an error that is a text', '/rpc/block?height=5', 200, '{"error":"overloaded"}'],
  ['a page', '/rpc/block?height=5', 200, '<html>'],
  ['a list', '/rpc/block?height=5', 200, '[]'],
  ['a result with a status of failure', '/rpc/block?height=5', 502, rpcText({ block: { header: { height: '5' } } })],
])('%s in place of JSON-RPC is an outage and is not kept', async (_name, path, status, text) => {
  await using proxy = await startRpcProxy({ status, text });
  const { gateway } = proxy;
  const bad = await gateway.get(path);
  expect([bad.status, bad.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await bad.json()).toMatchObject({ error: { code: -32603 } });
  proxy.answer(rpcText({ fine: true }));
  const good = await gateway.get(path);
  expect([good.status, await good.json()]).toMatchObject([200, { result: { fine: true } }]);
});

test.each([
  ['/rpc/block?height=6', { block: null }, { block: { header: { height: '6' } } }],
  ['/rpc/header?height=6', { header: null }, { header: { height: '6' } }],
  ['/rpc/tx?hash=0xAB', null, { hash: 'AB', height: '5' }],
  ['/rpc/validators?height=6', { validators: [] }, { block_height: '6', validators: [] }],
  ['/rpc/block_results?height=6', { height: '5' }, { height: '6' }],
  ['/rpc/consensus_params?height=6', { block_height: '7' }, { block_height: '6' }],
])('%s is kept only when its answer holds what was asked for', async (path, early, final) => {
  await using proxy = await startRpcProxy({ text: rpcText(early) });
  const ask = async () => ((await (await proxy.gateway.get(path)).json()) as { result: unknown }).result;
  expect(await ask()).toEqual(early);
  proxy.answer(rpcText(final));
  expect(await ask()).toEqual(final);
  proxy.answer(rpcText({ other: true }));
  expect(await ask()).toEqual(final);
});

test('a call with a repeated parameter is not kept, whichever of them the node reads', async () => {
  await using proxy = await startRpcProxy({ text: rpcText({ block: { header: { height: '6' } } }) });
  const path = '/rpc/block?height=&height=6';
  await proxy.gateway.get(path);
  proxy.answer(rpcText({ block: { header: { height: '7' } } }));
  expect(await (await proxy.gateway.get(path)).text()).toContain('"7"');
});

test.each([
  '{"jsonrpc":"2.0","id":-1,"result":{"n":9007199254740993,"10":1,"2":1,"x":1.0,"a":"\\u003c"}}',
  ' {"jsonrpc": "2.0", "id": -1, "result": {"n":9007199254740993, "x": [1.0, "}"]} }\n',
])('a result comes as the node wrote it: %s', async (text) => {
  await using proxy = await startRpcProxy({ text });
  const result = /"result":\s*(\{.*\})\s*\}/.exec(text)?.[1];
  expect(await (await proxy.gateway.get('/rpc/status')).text()).toBe(`{"jsonrpc":"2.0","id":-1,"result":${result}}`);
});

test('a result that is not the last member is read too', async () => {
  await using proxy = await startRpcProxy({ text: '{"result":{"a":1},"id":-1,"jsonrpc":"2.0"}' });
  expect(await (await proxy.gateway.get('/rpc/status')).json()).toEqual({ jsonrpc: '2.0', id: -1, result: { a: 1 } });
});

test('a client is disconnected when the node falls silent', async () => {
  await using rpc = await startRpcNode();
  await using network = await startTcpProxy(Number(new URL(rpc.url).port));
  const rpcUrl = `http://127.0.0.1:${network.port}`;
  const logger = createLogger({ name: 'gateway', level: 'silent' });
  const metrics = { countRefusedSubscription: () => undefined, watchSubscriptions: () => undefined };
  const subscriptions = createSubscriptions({ rpcUrl, logger, metrics, silenceMs: 100 });
  const received: string[] = [];
  const listener = { onEvent: (result: string) => received.push(result), onLost: () => received.push('lost') };
  expect(await subscriptions.subscribe('a', "tm.event='Tx'", listener)).toMatchObject({ ok: true });
  await waitFor('signs of life', () => rpc.calls.filter(({ method }) => method === 'health').length >= 2);
  expect(received).toEqual([]);
  network.stall();
  await waitFor('the loss', () => received.includes('lost'));
  subscriptions.close();
});

test('events while the node is down are refused with a time to come back', async () => {
  await using node = await startFixtureNode();
  const env = { GATEWAY_UPSTREAMS: node.address, GATEWAY_RPC: 'http://127.0.0.1:1' };
  await using gateway = await startTestGateway(env);
  const response = await gateway.get('/events');
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
});

function keepLines() {
  const lines: { msg: string; level: number; cause?: string }[] = [];
  return { lines, destination: { write: (line: string) => void lines.push(JSON.parse(line)) } };
}

test('a user and password in GATEWAY_RPC are sent as a header, and are in no log', async () => {
  await using node = await startFixtureNode();
  const authorization = `Basic ${Buffer.from('us er:p@ss').toString('base64')}`;
  await using rpc = await startRpcNode({ authorization });
  const { lines, destination } = keepLines();
  await using gateway = await startTestGateway(
    {
      GATEWAY_UPSTREAMS: node.address,
      GATEWAY_RPC: rpc.url.replace('http://', 'http://us%20er:p%40ss@'),
      LOG_LEVEL: 'debug',
    },
    { destination },
  );
  expect((await gateway.get('/rpc/block?height=5')).status).toBe(200);
  expect((await post(gateway, { id: 1, method: 'block', params: {} })).status).toBe(200);
  const { received, send, socket } = await openSocket(gateway);
  send(1, 'subscribe', { query: "tm.event='Tx'" });
  await waitFor('the confirmation', () => received.length > 0);
  expect(received[0]).toMatchObject({ id: 1, result: {} });
  socket.terminate();
  expect(JSON.stringify(lines)).not.toMatch(/p@ss|p%40ss/);
  expect(await (await gateway.get('/health')).text()).not.toContain('p@ss');
});

test('an RPC that cannot be reached is logged once with the cause, and again when it is back', async () => {
  await using node = await startFixtureNode();
  await using rpc = await startRpcNode();
  await using network = await startTcpProxy(Number(new URL(rpc.url).port));
  const { lines, destination } = keepLines();
  const env = { GATEWAY_UPSTREAMS: node.address, GATEWAY_RPC: `http://127.0.0.1:${network.port}`, LOG_LEVEL: 'info' };
  await using gateway = await startTestGateway(env, { destination });
  network.cut();
  for (let round = 0; round < 3; round += 1) expect((await gateway.get('/rpc/block')).status).toBe(503);
  network.restore();
  await waitFor('the return', async () => (await gateway.get('/rpc/block')).status === 200);
  expect(lines.filter(({ msg }) => msg.includes('the RPC'))).toMatchObject([
    { msg: 'the RPC of the node cannot be reached', cause: expect.any(String) },
    { msg: 'the RPC of the node was reached again' },
  ]);
});

test('HEAD /events is answered without a subscription', async () => {
  await using pair = await startPair();
  const response = await fetch(`${pair.gateway.url}/events`, { method: 'HEAD', signal: AbortSignal.timeout(5_000) });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('event-stream'),
  ]);
  expect(pair.rpc.subscribed).toEqual([]);
});

test('a frame that is too large is not an error of the gateway', async () => {
  await using node = await startFixtureNode();
  await using rpc = await startRpcNode();
  const { lines, destination } = keepLines();
  const env = { GATEWAY_UPSTREAMS: node.address, GATEWAY_RPC: rpc.url, LOG_LEVEL: 'info' };
  await using gateway = await startTestGateway(env, { destination });
  const { socket, state } = await openSocket(gateway);
  socket.on('error', () => undefined);
  socket.send('x'.repeat(1_100_000));
  await waitFor('the end', () => state.closed > 0);
  expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
});
