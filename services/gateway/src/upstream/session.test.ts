// What real networks do and test nodes seldom do: names, settings, and answers that break the rules.
import { constants } from 'node:http2';
import { createSecureContext } from 'node:tls';
import { createSelfSignedCertificate, waitFor } from '@palaver/test-kit';
import { startTcpProxy } from '@palaver/test-kit/servers';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { frame, respond, type Script, startScriptedNode } from '../../test/scripted-node.ts';
import { createUpstream, type Upstream, type UpstreamOptions } from './upstream.ts';

const opened: Upstream[] = [];
afterEach(() => {
  for (const upstream of opened.splice(0)) upstream.close();
});

function connectTo(options: UpstreamOptions): Upstream {
  const upstream = createUpstream(options);
  opened.push(upstream);
  return upstream;
}

const message = Buffer.from('hello');
const query = { path: '/x.Query/Get', body: new Uint8Array([1, 2]), metadata: {}, timeoutMs: 3_000 };
const answers: Script = (stream) => respond(stream, frame(message));

test('a node that shares its port with others is asked for by its name', async () => {
  const other = createSelfSignedCertificate('other.example');
  const own = createSelfSignedCertificate('localhost');
  const asked: string[] = [];
  await using node = await startScriptedNode(answers, {
    tls: {
      ...other,
      SNICallback(name, done) {
        asked.push(name);
        done(null, createSecureContext(name === 'localhost' ? own : other));
      },
    },
  });
  const upstream = connectTo({ addresses: [`tls://localhost:${node.port}`], ca: own.cert });
  expect(await upstream.call(query)).toMatchObject({ ok: true });
  expect(asked).toEqual(['localhost']);
});

test.each([0, 1, 100, 4095])('a node with a header table of %i bytes is reached', async (headerTableSize) => {
  await using node = await startScriptedNode(answers, { settings: { headerTableSize } });
  const upstream = connectTo({ addresses: [node.address] });
  for (let round = 0; round < 5; round += 1)
    expect(await upstream.call({ ...query, metadata: { 'x-round': String(round) } })).toMatchObject({ ok: true });
});

const longText: Script = (stream, path) => {
  if (path !== '/long') return respond(stream, frame(message));
  respond(stream, Buffer.alloc(0), { 'grpc-status': '2', 'grpc-message': 'x'.repeat(200 * 1024) });
};

test('an error text of 200 KiB fails that call alone, on one node', async () => {
  await using a = await startScriptedNode(longText);
  await using b = await startScriptedNode(longText);
  const upstream = connectTo({ addresses: [a.address, b.address] });
  await waitFor('both', () => upstream.status().every(({ healthy }) => healthy));
  const [long, ...others] = await Promise.all([
    upstream.call({ ...query, path: '/long' }),
    ...Array.from({ length: 20 }, () => upstream.call(query)),
  ]);
  expect(long).toMatchObject({ ok: false });
  expect(others.filter(({ ok }) => !ok)).toEqual([]);
  // Once among others, whose connection it ends; then alone.
  expect([...a.calls, ...b.calls].filter((path) => path === '/long')).toHaveLength(2);
});

test('queries whose answers end sessions harm others a few times only, and then none', async () => {
  await using node = await startScriptedNode(longText);
  const upstream = connectTo({ addresses: [node.address] });
  await waitFor('the node', () => upstream.status()[0]?.healthy);
  const long = (no: number) => upstream.call({ ...query, path: '/long', body: Uint8Array.from([no]) });
  const others = [];
  for (let round = 0; round < 12; round += 1) {
    const [bad, ...rest] = await Promise.all([long(round), upstream.call(query), upstream.call(query)]);
    expect(bad).toMatchObject({ ok: false, fault: 'breach' });
    others.push(...rest, await upstream.call(query));
  }
  expect(others.filter(({ ok }) => !ok)).toEqual([]);
  // Three end a session that others use and are repeated alone; from then on all of the method are alone.
  expect(node.calls.filter((path) => path === '/long')).toHaveLength(15);
  expect((await upstream.call(query)).ok).toBe(true);
});

test('slow queries that are sent alone make others of their method wait for a moment only', async () => {
  await using node = await startScriptedNode((stream) => {
    stream.on('data', ([, , , , , no]: Buffer) => {
      if (no !== 9) respond(stream, Buffer.alloc(0), { 'grpc-status': '2', 'grpc-message': 'x'.repeat(200 * 1024) });
    });
  });
  const upstream = connectTo({ addresses: [node.address] });
  const send = (no: number, timeoutMs: number) => upstream.call({ ...query, body: Uint8Array.from([no]), timeoutMs });
  for (let no = 0; no < 3; no += 1) expect(await send(no, 5_000)).toMatchObject({ fault: 'breach' });
  const slow = Array.from({ length: 64 }, () => send(9, 30_000));
  await waitFor('the slow queries', () => node.calls.length >= 64);
  expect(await send(9, 25_000)).toMatchObject({ ok: false, code: 14, fault: 'unreachable' });
  upstream.close();
  for (const session of node.sessions) session.destroy();
  await Promise.all(slow);
}, 60_000);

test('a query over whose answer the node itself ends the session is sent alone the next time', async () => {
  await using node = await startScriptedNode((stream, path) => {
    if (path !== '/bad') return respond(stream, frame(message));
    stream.session?.goaway();
    setTimeout(() => stream.close(constants.NGHTTP2_FRAME_SIZE_ERROR), 20);
  });
  const upstream = connectTo({ addresses: [node.address] });
  const bad = () => upstream.call({ ...query, path: '/bad' });
  expect(await bad()).toMatchObject({ ok: false, fault: 'reset' });
  await waitFor('the next session', () => upstream.status()[0]?.healthy);
  expect(await bad()).toMatchObject({ ok: false, fault: 'reset' });
  expect(upstream.status()[0]?.healthy).toBe(true);
});

test('calls wait for a node that ends its sessions early', async () => {
  await using node = await startScriptedNode(answers);
  const upstream = connectTo({ addresses: [node.address] });
  for (let round = 0; round < 4; round += 1) {
    expect(await upstream.call(query)).toMatchObject({ ok: true });
    for (const session of node.sessions) session.goaway();
    await waitFor('the goodbye', () => upstream.status()[0]?.healthy === false);
  }
});

test('a node that falls silent after it has answered a ping is given up, also by calls with a short time', async () => {
  await using node = await startScriptedNode(() => undefined);
  await using proxy = await startTcpProxy(node.port);
  const causes: string[] = [];
  const upstream = connectTo({
    addresses: [`127.0.0.1:${proxy.port}`],
    onDown: (_address, { message }) => void causes.push(message),
  });
  await waitFor('the node', () => upstream.status()[0]?.healthy);
  let pings = 0;
  for (const session of node.sessions) session.on('ping', () => (pings += 1));
  const slow = upstream.call({ ...query, timeoutMs: 20_000 });
  await waitFor('a ping', () => pings > 0);
  proxy.stall();
  const calls = async () => {
    await upstream.call({ ...query, timeoutMs: 200 });
    return causes.includes('the node does not answer pings');
  };
  await waitFor('the end', calls, 25_000);
  expect(await slow).toMatchObject({ ok: false });
}, 60_000);

test('an answer that continues beyond its announced length is given up', async () => {
  let sent = 0;
  let isReset = false;
  await using node = await startScriptedNode((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.on('close', () => (isReset = true));
    stream.write(frame(message, 0, 10));
    const more = () => {
      if (isReset || sent > 32 * 1024 * 1024) return;
      sent += 1024 * 1024;
      stream.write(Buffer.alloc(1024 * 1024), more);
    };
    more();
  });
  const upstream = connectTo({ addresses: [node.address] });
  expect(await upstream.call(query)).toMatchObject({ ok: false, fault: 'malformed' });
  await waitFor('the reset', () => isReset);
  expect(sent).toBeLessThan(16 * 1024 * 1024);
});

test('whatever a node sets, and sets again while calls run, they are answered', async () => {
  const settings = fc.record(
    {
      headerTableSize: fc.constantFrom(0, 64, 4096, 65_536),
      initialWindowSize: fc.constantFrom(500, 65_535, 1_000_000),
      maxFrameSize: fc.constantFrom(16_384, 100_000),
      maxConcurrentStreams: fc.constantFrom(1, 3, 1_000),
      maxHeaderListSize: fc.constantFrom(4_096, 100_000),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(settings, settings, fc.nat(100_000), async (first, second, size) => {
      const script: Script = (stream, path) => {
        if (path === '/change') stream.session?.settings(second);
        stream.on('end', () => respond(stream, frame(message)));
      };
      await using node = await startScriptedNode(script, { settings: first });
      const upstream = connectTo({ addresses: [node.address] });
      const body = new Uint8Array(size);
      const calls = ['/a', '/change', '/b', '/c'].map((path) => upstream.call({ ...query, body, path }));
      expect((await Promise.all(calls)).filter(({ ok }) => !ok)).toEqual([]);
    }),
    { numRuns: 25 },
  );
});
