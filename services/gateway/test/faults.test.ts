import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { freePort, startProcess, waitFor } from '@palaver/test-kit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { startFixtureNode } from './fixture-node.ts';
import { frame, respond, startScriptedNode } from './scripted-node.ts';
import { startTestGateway } from './start-test-gateway.ts';

const protos = fileURLToPath(new URL('protos', import.meta.url));
const script = fileURLToPath(new URL('node-process.ts', import.meta.url));

async function startNode(port: number) {
  const node = startProcess(process.execPath, [script, String(port)]);
  await node.printed('listening');
  return node;
}

/** Asks without pause until stopped; gives how often each status came. */
function keepAsking(ask: (round: number) => Promise<Response>, clients = 8) {
  const statuses = new Map<number, number>();
  let going = true;
  const done = Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let round = 0; going; round += 1) {
        const response = await ask(round * clients + client);
        await response.text();
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      }
    }),
  );
  return {
    statuses,
    async stop() {
      going = false;
      await done;
    },
  };
}

test('a node that is killed in mid-load gives 503 or 504 and nothing else, and everything recovers', async () => {
  const port = await freePort();
  const first = await startNode(port);
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: `127.0.0.1:${port}`, GATEWAY_CACHE_TTL_MS: '0' });
  const load = keepAsking((round) => gateway.get(`/fixture/item/${round}`));
  await waitFor('load', () => (load.statuses.get(200) ?? 0) > 100);
  first.kill();
  await waitFor('the outage', () => (load.statuses.get(503) ?? 0) > 20);
  const health = await gateway.get('/health');
  expect([health.status, ((await health.json()) as { status: string }).status]).toEqual([503, 'down']);
  const second = await startNode(port);
  const before = load.statuses.get(200) ?? 0;
  await waitFor('recovery', () => (load.statuses.get(200) ?? 0) > before + 100);
  await load.stop();
  expect([...load.statuses.keys()].filter((status) => ![200, 503, 504].includes(status))).toEqual([]);
  const after = await Promise.all(Array.from({ length: 20 }, (_, round) => gateway.get(`/fixture/item/${round}`)));
  expect(after.every(({ status }) => status === 200)).toBe(true);
  second.kill();
  await second.exited;
});

test('one of three nodes that is killed is not noticed by clients', async () => {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const nodes = await Promise.all(ports.map(startNode));
  await using gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: ports.map((port) => `127.0.0.1:${port}`).join(),
    GATEWAY_CACHE_TTL_MS: '0',
  });
  await waitFor(
    'all nodes',
    async () => ((await (await gateway.get('/health')).json()) as { status: string }).status === 'ok',
  );
  const load = keepAsking((round) => gateway.get(`/fixture/item/${round}`));
  await waitFor('load', () => (load.statuses.get(200) ?? 0) > 100);
  nodes[1]?.kill();
  const before = load.statuses.get(200) ?? 0;
  await waitFor('more load', () => (load.statuses.get(200) ?? 0) > before + 300);
  await load.stop();
  expect([...load.statuses.keys()]).toEqual([200]);
  expect(await (await gateway.get('/health')).json()).toMatchObject({ status: 'degraded' });
  const down = `gateway_upstream_down_since_seconds{address="127.0.0.1:${ports[1]}",cause="connect ECONNREFUSED`;
  await waitFor('its cause', async () => (await (await gateway.get('/metrics')).text()).includes(down));
  for (const node of nodes) node.kill();
  await Promise.all(nodes.map(({ exited }) => exited));
});

test('answers that make no sense are errors that reveal nothing about the node', async () => {
  let body: Buffer = Buffer.alloc(0);
  let trailers: Record<string, string> = { 'grpc-status': '0' };
  await using node = await startScriptedNode((stream) => respond(stream, body, trailers));
  await using gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_DESCRIPTORS: protos,
    GATEWAY_CACHE_TTL_MS: '0',
  });
  await waitFor('the node', async () => (await gateway.get('/health')).status === 200);
  const ask = async () => {
    const response = await gateway.get('/fixture/item/1');
    const text = await response.text();
    expect(text).not.toContain(node.address);
    expect(text).not.toMatch(/\.ts:|node:|\bat \w|WireError/);
    return { status: response.status, json: JSON.parse(text) };
  };
  body = frame(Buffer.from([0x0a, 0x50, 0x61]));
  expect(await ask()).toMatchObject({
    status: 500,
    json: { code: 13, message: 'the answer of the node could not be read' },
  });
  body = frame(Buffer.alloc(3), 0, 17 * 1024 * 1024);
  expect(await ask()).toMatchObject({ status: 502, json: { code: 8, reason: 'RESPONSE_TOO_LARGE', statusCode: 502 } });
  body = frame(Buffer.alloc(3), 1);
  expect(await ask()).toMatchObject({ status: 500, json: { code: 13 } });
  body = frame(Buffer.from([0xa2, 0x06, 0x01, 0x61, 0x0a, 0x01, 0x62]));
  expect(await ask()).toMatchObject({ status: 200, json: { id: 'b' } });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), fc.boolean(), fc.nat(20), async (bytes, framed, code) => {
      body = framed ? frame(bytes) : Buffer.from(bytes);
      trailers = { 'grpc-status': String(code), 'grpc-status-details-bin': Buffer.from(bytes).toString('base64') };
      const { status } = await ask();
      expect(status === 200 || status >= 400).toBe(true);
    }),
    { numRuns: 150 },
  );
});

test('whatever URL and headers come, the reply is JSON with its status in the body, never 500', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  const { port } = new URL(gateway.url);
  const send = (raw: string) =>
    new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(raw, 'latin1'));
      socket.on('data', (chunk) => (text += chunk.toString('latin1')));
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
  const piece = fc.constantFrom(
    '/',
    '//',
    '.',
    '..',
    '%',
    '%2F',
    '%zz',
    ':',
    '?',
    '&',
    '=',
    'fixture',
    'item',
    'everything',
    'number',
    '[',
    ']',
    'a',
    ';',
    '+',
    '%00',
    '%C3',
    'é',
    'json=proto3',
    '1e999',
    '~',
    '#',
    '*',
    '{id}',
    '\\',
    '|',
  );
  const header = fc.constantFrom(
    'X-Cosmos-Block-Height',
    'Grpc-Metadata-X',
    'Grpc-Metadata-X-Bin',
    'Grpc-Timeout',
    'If-None-Match',
    'X-Request-Id',
    'Grpc-Metadata-Grpc-Status',
    'Authorization',
    'X-HTTP-Method-Override',
  );
  const value = fc.string({
    unit: fc.constantFrom('a', '1', '-', ' ', '"', ',', '\u00e9', '\u0001', '%', '=', 'S', 'm'),
    maxLength: 20,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 12 }),
      fc.array(fc.tuple(header, value), { maxLength: 3 }),
      async (path, headers) => {
        const lines = headers.map(([name, text]) => `${name}: ${text}\r\n`).join('');
        const text = await send(`GET /${path.join('')} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`);
        const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
        expect(status).toBeGreaterThanOrEqual(200);
        expect(status).toBeLessThan(500);
        expect(text.toLowerCase()).toContain('x-request-id');
        if (status < 400) return;
        expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toMatchObject({
          statusCode: status,
          code: expect.any(Number),
        });
      },
    ),
    { numRuns: 400 },
  );
});

test('a client that does not read its reply is disconnected, and what it was sent is let go', async () => {
  const note = Buffer.alloc(12 * 1024 * 1024, 'x');
  await using node = await startFixtureNode({
    reply: () => ({ message: new BinaryWriter().tag(3, WireType.LengthDelimited).bytes(note).finish() }),
  });
  await using gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_TIMEOUT_MS: '2000',
    REQUEST_TIMEOUT_SECONDS: '1',
  });
  const { port } = new URL(gateway.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET /fixture/item/1 HTTP/1.1\r\nhost: x.localhost\r\n\r\n');
  socket.pause();
  const open = () =>
    new Promise<number>((resolve) => gateway.server.server.getConnections((_error, count) => resolve(count)));
  await waitFor('the call', () => node.calls.length > 0);
  await waitFor('the end of the connection', async () => (await open()) === 0 || undefined);
  socket.destroy();
});

test('metadata whose names every object has is passed on as it came', async () => {
  await using node = await startFixtureNode({
    reply: () => ({ message: new Uint8Array(), metadata: { constructor: 'a' } }),
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  expect((await gateway.get('/fixture/item/1')).headers.get('grpc-metadata-constructor')).toBe('a');
});

test('a request that names the whole URL is answered as one that names the path', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  socket.write(`GET ${gateway.url}/fixture/item/1 HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`);
  await waitFor('the reply', () => socket.closed);
  expect(text).toMatch(/^HTTP\/1\.1 200/);
});

test('a client that sends requests without reading the replies has at most a few of them made', async () => {
  const large = Buffer.concat([Buffer.from([0x0a, 0x80, 0x80, 0x80, 0x02]), Buffer.alloc(4 * 1024 * 1024, 'x')]);
  await using node = await startFixtureNode({ reply: () => ({ message: large }) });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '0' });
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').pause();
  const head = (id: number) => `GET /fixture/item/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  socket.write(Array.from({ length: 40 }, (_, id) => head(id)).join(''));
  for (let round = 0; round < 12; round += 1) await (await gateway.get(`/fixture/item/own-${round}`)).arrayBuffer();
  const calls = node.calls.filter(({ method }) => method === 'Item').length - 12;
  socket.destroy();
  // Those that fit into the buffers of the connection.
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThan(6);
});
