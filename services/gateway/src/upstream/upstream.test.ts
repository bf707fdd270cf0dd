import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@palaver/test-kit';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { startFixtureNode } from '../../test/fixture-node.ts';
import { frame, respond, type Script, startScriptedNode } from '../../test/scripted-node.ts';
import { createUpstream, type Upstream } from './upstream.ts';

const opened: Upstream[] = [];
afterEach(() => {
  for (const upstream of opened.splice(0)) upstream.close();
});

function connectTo(...addresses: string[]): Upstream {
  const upstream = createUpstream({ addresses });
  opened.push(upstream);
  return upstream;
}

const query = { path: '/x.Query/Get', body: new Uint8Array([1, 2]), metadata: {}, timeoutMs: 3_000 };

async function answerOf(script: Script) {
  await using node = await startScriptedNode(script);
  return await connectTo(node.address).call(query);
}

test('a message comes back whole, with its metadata and without the transport’s own fields', async () => {
  const answer = await answerOf((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'x-height': '7' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-cost': '3' }));
    stream.write(frame(Buffer.from('hello')).subarray(0, 3));
    setTimeout(() => stream.end(frame(Buffer.from('hello')).subarray(3)), 10);
  });
  expect(answer).toMatchObject({ ok: true, metadata: { 'x-height': '7', 'x-cost': '3' } });
  expect(answer.ok && answer.message.toString()).toBe('hello');
  expect(Object.keys(answer.metadata).sort()).toEqual(['x-cost', 'x-height']);
});

test.each(['0', '00'])('a call whose status is %s is answered', async (status) => {
  const answer = await answerOf((stream) => respond(stream, frame(message), { 'grpc-status': status }));
  expect(answer).toMatchObject({ ok: true, message });
});

test('a height in the headers and again in the trailers is one height', async () => {
  const height = { 'x-cosmos-block-height': '7' };
  const answer = await answerOf((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...height }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', ...height }));
    stream.end(frame(Buffer.from('hello')));
  });
  expect(answer.metadata).toEqual(height);
});

const message = Buffer.from('hello');
test.each<[string, Script, object]>([
  ['compressed without being asked', (stream) => respond(stream, frame(message, 1)), { code: 13, fault: 'malformed' }],
  ['shorter than announced', (stream) => respond(stream, frame(message, 0, 50)), { code: 13, fault: 'malformed' }],
  ['cut inside its head', (stream) => respond(stream, Buffer.from([0, 0])), { code: 13, fault: 'malformed' }],
  ['sent twice', (stream) => respond(stream, Buffer.concat([frame(message), frame(message)])), { code: 13 }],
  ['missing', (stream) => respond(stream, Buffer.alloc(0)), { code: 13, fault: 'malformed' }],
  [
    'announced as too large',
    (stream) => respond(stream, frame(message, 0, 17 * 1024 * 1024)),
    { code: 8, fault: 'too large' },
  ],
  ['announced as 4 GiB', (stream) => respond(stream, frame(message, 0, 0xffffffff)), { code: 8, fault: 'too large' }],
  ['without trailers', (stream) => stream.respond({ ':status': 200 }, { endStream: true }), { code: 13 }],
  [
    'a page',
    (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/html' });
      stream.end('<html>');
    },
    { code: 2, message: 'the node answered with text/html instead of gRPC' },
  ],
  ...[
    [404, 12],
    [429, 14],
    [502, 14],
    [503, 14],
  ].map(([status, code]): [string, Script, object] => [
    `the page of a proxy with HTTP ${status}`,
    (stream) => {
      stream.respond({ ':status': status, 'content-type': 'text/html' });
      stream.end('<html><h1>Bad Gateway</h1></html>');
    },
    { code, fault: 'not gRPC', message: `the node answered with HTTP ${status}` },
  ]),
  ['HTTP 404', (stream) => stream.respond({ ':status': 404 }, { endStream: true }), { code: 12 }],
  ['HTTP 502', (stream) => stream.respond({ ':status': 502 }, { endStream: true }), { code: 14 }],
  ['HTTP 302', (stream) => stream.respond({ ':status': 302 }, { endStream: true }), { code: 2 }],
  ['a status that is no number', (stream) => respond(stream, Buffer.alloc(0), { 'grpc-status': 'fine' }), { code: 2 }],
  [
    'trailers only',
    (stream) =>
      stream.respond(
        { ':status': 200, 'grpc-status': '5', 'grpc-message': 'no%20such%20%E2%82%AC' },
        { endStream: true },
      ),
    { code: 5, message: 'no such €' },
  ],
  [
    'a message with a bad escape',
    (stream) => stream.respond({ ':status': 200, 'grpc-status': '5', 'grpc-message': '100%' }, { endStream: true }),
    { code: 5, message: '100%' },
  ],
  ['a status beside a message', (stream) => respond(stream, frame(message), { 'grpc-status': '9' }), { code: 9 }],
])('an answer that is %s is a failure', async (_name, script, expected) => {
  expect(await answerOf(script)).toMatchObject({ ok: false, ...expected });
});

test('whatever bytes come, a call ends with an answer', async () => {
  let body = Buffer.alloc(0);
  await using node = await startScriptedNode((stream) => respond(stream, body));
  const upstream = connectTo(node.address);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), async (bytes) => {
      body = Buffer.from(bytes);
      const answer = await upstream.call(query);
      if (answer.ok) expect(frame(answer.message)).toEqual(body);
    }),
    { numRuns: 200 },
  );
});

test.each(['invalid denom: ', 'two  '])('the message %j of a node arrives whole', async (text) => {
  const answer = await answerOf((stream) =>
    respond(stream, Buffer.alloc(0), { 'grpc-status': '3', 'grpc-message': text }),
  );
  expect(answer).toMatchObject({ ok: false, code: 3, message: text });
});

test('an answer of almost 16 MiB passes', async () => {
  const large = Buffer.alloc(16 * 1024 * 1024 - 1, 7);
  const answer = await answerOf((stream) => respond(stream, frame(large)));
  expect(answer.ok && answer.message.equals(large)).toBe(true);
});

test('the deadline ends a call, also at the node', async () => {
  let reset: number | undefined;
  await using node = await startScriptedNode((stream) => stream.on('close', () => (reset = stream.rstCode)));
  const upstream = connectTo(node.address);
  await waitFor('the node', () => upstream.status()[0]?.healthy);
  const answer = await upstream.call({ ...query, timeoutMs: 60 });
  expect(answer).toMatchObject({ ok: false, code: 4, fault: 'deadline' });
  await waitFor('the reset', () => reset === constants.NGHTTP2_CANCEL);
});

test('a caller that leaves ends a call, also at the node', async () => {
  let reset: number | undefined;
  await using node = await startScriptedNode((stream) => stream.on('close', () => (reset = stream.rstCode)));
  const controller = new AbortController();
  const answer = connectTo(node.address).call(query, controller.signal);
  await waitFor('the call', () => node.calls.length === 1);
  controller.abort();
  expect(await answer).toMatchObject({ ok: false, code: 1, fault: 'cancelled' });
  await waitFor('the reset', () => reset === constants.NGHTTP2_CANCEL);
});

test('nobody there is unavailable, at once', async () => {
  const answer = await connectTo('127.0.0.1:1').call(query);
  expect(answer).toMatchObject({ ok: false, code: 14, fault: 'unreachable' });
});

test('a node that sends GOAWAY finishes its calls and is connected to again', async () => {
  let release = () => {};
  await using node = await startScriptedNode((stream, path) => {
    if (path !== '/slow') return respond(stream, frame(message));
    release = () => respond(stream, frame(message));
  });
  const upstream = connectTo(node.address);
  const slow = upstream.call({ ...query, path: '/slow' });
  await waitFor('the call', () => node.calls.length === 1);
  for (const session of node.sessions) session.goaway();
  await waitFor('the goodbye', () => upstream.status()[0]?.healthy === false);
  release();
  expect(await slow).toMatchObject({ ok: true });
  await waitFor('a new session', () => upstream.status()[0]?.healthy);
  expect(await upstream.call(query)).toMatchObject({ ok: true });
});

test('calls are spread over the nodes', async () => {
  const script: Script = (stream) => setTimeout(() => respond(stream, frame(message)), 5);
  await using a = await startScriptedNode(script);
  await using b = await startScriptedNode(script);
  const upstream = connectTo(a.address, b.address);
  await waitFor('both', () => upstream.status().every(({ healthy }) => healthy));
  await Promise.all(Array.from({ length: 40 }, () => upstream.call(query)));
  expect(Math.min(a.calls.length, b.calls.length)).toBeGreaterThan(10);
});

test('a call whose connection dies is repeated on another node', async () => {
  await using dying = await startScriptedNode((stream) => stream.session?.destroy());
  await using good = await startScriptedNode((stream) => respond(stream, frame(message)));
  const upstream = connectTo(dying.address, good.address);
  await waitFor('both', () => upstream.status().every(({ healthy }) => healthy));
  const answers = await Promise.all(Array.from({ length: 20 }, () => upstream.call(query)));
  expect(answers.every(({ ok }) => ok)).toBe(true);
});

test('an error of the query itself is not repeated', async () => {
  await using a = await startScriptedNode((stream) => respond(stream, Buffer.alloc(0), { 'grpc-status': '13' }));
  await using b = await startScriptedNode((stream) => respond(stream, Buffer.alloc(0), { 'grpc-status': '13' }));
  const upstream = connectTo(a.address, b.address);
  expect(await upstream.call(query)).toMatchObject({ ok: false, code: 13 });
  expect(a.calls.length + b.calls.length).toBe(1);
});

test('a node that does not answer the watch gets no calls until it does', async () => {
  let mute = true;
  const isWatch = (path: string) => path.startsWith('/cosmos.');
  await using node = await startScriptedNode((stream) => {
    if (!mute) respond(stream, frame(message));
  });
  await using other = await startScriptedNode((stream) => respond(stream, frame(message)));
  const upstream = createUpstream({ addresses: [node.address, other.address], maxLagBlocks: 2 });
  opened.push(upstream);
  await waitFor('both', () => upstream.status().every(({ reachable }) => reachable));
  await waitFor('the verdict', () => upstream.status()[0]?.healthy === false);
  expect(upstream.status()[0]).toMatchObject({ healthy: false, reachable: true });
  const asked = () => node.calls.filter((path) => !isWatch(path)).length;
  const before = asked();
  for (let round = 0; round < 5; round += 1) expect(await upstream.call(query)).toMatchObject({ ok: true });
  expect(asked()).toBe(before);
  mute = false;
  await waitFor('the return', () => upstream.status()[0]?.healthy);
  await waitFor('a call there', async () => {
    await upstream.call(query);
    return asked() > before;
  });
});

test('callers that leave a node that answers others do not set it aside', async () => {
  await using node = await startScriptedNode((stream, path) => {
    if (path !== '/slow') respond(stream, frame(message));
  });
  const upstream = connectTo(node.address);
  expect((await upstream.call(query)).ok).toBe(true);
  for (let round = 0; round < 8; round += 1) {
    const slow = upstream.call({ ...query, path: '/slow' }, AbortSignal.timeout(150));
    expect((await upstream.call(query)).ok).toBe(true);
    expect(await slow).toMatchObject({ fault: 'cancelled' });
  }
  expect(upstream.status()[0]?.healthy).toBe(true);
});

test('a node that was restarted on its port is reached again', async () => {
  const first = await startFixtureNode();
  const upstream = connectTo(first.address);
  await waitFor('the node', () => upstream.status()[0]?.healthy);
  first.close();
  await waitFor('the loss', () => !upstream.status()[0]?.healthy);
  expect(await upstream.call(query)).toMatchObject({ ok: false, fault: 'unreachable' });
  await sleep(100);
  await using second = await startFixtureNode({ port: first.port });
  await waitFor('the return', () => upstream.status()[0]?.healthy);
  const answer = await upstream.call({ ...query, path: '/fixture.v1.Query/Item', body: new Uint8Array() });
  expect(answer.ok).toBe(true);
  expect(second.calls).toHaveLength(1);
});

test('a node that ends a healthy session with GOAWAY is asked on a new one without a gap', async () => {
  await using node = await startScriptedNode((stream) => respond(stream, frame(message)));
  const upstream = connectTo(node.address);
  expect((await upstream.call(query)).ok).toBe(true);
  await sleep(1_100); // what counts as a good session
  const answers = [];
  for (const session of node.sessions) session.goaway();
  for (let round = 0; round < 100; round += 1) answers.push(await upstream.call(query));
  expect(answers.filter((answer) => !answer.ok)).toEqual([]);
});

test('calls that wait for room on a session that ends are sent on the next one', async () => {
  const settings = { maxConcurrentStreams: 3 };
  const script: Script = (stream) => setImmediate(() => respond(stream, frame(message)));
  await using node = await startScriptedNode(script, { settings });
  const upstream = connectTo(node.address);
  expect((await upstream.call(query)).ok).toBe(true);
  await sleep(1_100); // what counts as a good session
  const answers: boolean[] = [];
  const load = Promise.all(
    Array.from({ length: 30 }, async () => {
      for (let round = 0; round < 30; round += 1) answers.push((await upstream.call(query)).ok);
    }),
  );
  await waitFor('some answers', () => answers.length > 200);
  for (const session of node.sessions) session.close();
  await load;
  expect(answers.filter((ok) => !ok)).toEqual([]);
});

test('a call that is cancelled after an answer from too low a height asks no more', async () => {
  let calls = 0;
  const script: Script = (stream) => {
    calls += 1;
    if (calls > 1) return;
    stream.respond({ ':status': 200, 'x-cosmos-block-height': '5' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(frame(message));
  };
  await using a = await startScriptedNode(script);
  await using b = await startScriptedNode(script);
  const upstream = connectTo(a.address, b.address);
  await waitFor('both', () => upstream.status().every(({ healthy }) => healthy));
  const controller = new AbortController();
  const answer = upstream.call({ ...query, minHeight: 6 }, controller.signal);
  await waitFor('the second call', () => calls === 2);
  controller.abort();
  expect(await answer).toMatchObject({ ok: false, fault: 'cancelled' });
  await sleep(500);
  expect(calls).toBe(2);
});

test('what a node or a proxy before it cannot answer at the moment is asked elsewhere', async () => {
  await using a = await startScriptedNode((stream) => stream.respond({ ':status': 502 }, { endStream: true }));
  await using b = await startScriptedNode((stream) => respond(stream, Buffer.alloc(0), { 'grpc-status': '14' }));
  await using good = await startScriptedNode((stream) => respond(stream, frame(message)));
  const upstream = connectTo(a.address, b.address, good.address);
  await waitFor('all', () => upstream.status().every(({ healthy }) => healthy));
  for (let round = 0; round < 9; round += 1) expect(await upstream.call(query)).toMatchObject({ ok: true });
});

test.each([200, 403, 404, 500, 502])('a page with HTTP %i in place of an answer is asked elsewhere', async (status) => {
  await using page = await startScriptedNode((stream) => {
    stream.respond({ ':status': status, 'content-type': 'text/html' });
    stream.end('<h1>nginx</h1>');
  });
  await using good = await startScriptedNode((stream) => respond(stream, frame(message)));
  const upstream = connectTo(page.address, good.address);
  await waitFor('both', () => upstream.status().every(({ healthy }) => healthy));
  for (let round = 0; round < 6; round += 1) expect(await upstream.call(query)).toMatchObject({ ok: true });
  expect(page.calls.length).toBeGreaterThan(0);
});

test.each([2, 5, 7, 12, 13, 16])(
  'a node that refuses the questions of the watch with code %i gets calls',
  async (code) => {
    const script: Script = (stream, path) =>
      path.startsWith('/cosmos.')
        ? respond(stream, Buffer.alloc(0), { 'grpc-status': String(code), 'grpc-message': 'not allowed here' })
        : respond(stream, frame(message));
    await using denied = await startScriptedNode(script);
    await using good = await startScriptedNode((stream) => respond(stream, frame(message)));
    const upstream = createUpstream({ addresses: [denied.address, good.address], maxLagBlocks: 2 });
    opened.push(upstream);
    await waitFor('the questions', () => denied.calls.length >= 2 && good.calls.length >= 2);
    for (let round = 0; round < 6; round += 1) expect(await upstream.call(query)).toMatchObject({ ok: true });
    expect(denied.calls.filter((path) => path === query.path)).toHaveLength(3);
  },
);

test('a call that comes while a session breaks waits for the next one', async () => {
  await using node = await startScriptedNode((stream, path) =>
    path.endsWith('Bad')
      ? respond(stream, Buffer.alloc(0), { 'grpc-status': '3', 'grpc-message': 'y'.repeat(200 * 1024) })
      : respond(stream, frame(message)),
  );
  const upstream = connectTo(node.address);
  const answer = new Promise((resolve) => {
    upstream.send({ ...query, path: '/x.Query/Bad', once: true }, () => upstream.send(query, resolve));
  });
  expect(await answer).toMatchObject({ ok: true });
});
