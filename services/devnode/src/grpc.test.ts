import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { toGrpcFrame } from '@palaver/service-kit/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refuse } from './chain.ts';
import { createGrpcServer, type Method } from './grpc.ts';

const failures: unknown[] = [];
const echo = {
  open: () => (message: Buffer) => ({ ok: true as const, message, metadata: { 'x-size': `${message.length}` } }),
};
const methods = new Map<string, Method>([
  ['/test/Echo', { streaming: false, ...echo }],
  ['/test/EchoAll', { streaming: true, ...echo }],
  ['/test/Large', { streaming: false, open: () => () => ({ ok: true, message: new Uint8Array(2_001) }) }],
  [
    '/test/Refuse',
    { streaming: false, open: () => () => ({ ...refuse('NOT_FOUND', 'né 100 %'), metadata: { 'x-a': '1' } }) },
  ],
  [
    '/test/Break',
    {
      streaming: false,
      open: () => () => {
        throw new Error('a secret');
      },
    },
  ],
]);
const limits = { maxRequestBytes: 1_000, maxReplyBytes: 2_000, idleMs: 60_000 };
const server = createGrpcServer({ methods, limits, onError: (error) => failures.push(error) });
let session: ClientHttp2Session;

beforeAll(async () => {
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  session = connect(`http://127.0.0.1:${port}`);
  await once(session, 'connect');
});
afterAll(async () => {
  session.close();
  await server.close(1_000);
});

const grpc = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };

/** Sends a request as it is and gathers all that comes back. With `open`, the client never ends its side. */
async function send(headers: OutgoingHttpHeaders, body: Uint8Array, { open = false } = {}) {
  const stream = session.request({ ...grpc, ...headers });
  let head: Record<string, unknown> = {};
  let trailers: Record<string, unknown> = {};
  const chunks: Buffer[] = [];
  stream.on('response', (received) => {
    head = received;
  });
  stream.on('trailers', (received) => {
    trailers = received;
  });
  stream.on('data', (chunk) => chunks.push(chunk));
  stream.on('error', () => {});
  stream.write(body);
  if (!open) stream.end();
  await once(stream, 'close');
  return { head, trailers, body: Buffer.concat(chunks), status: trailers['grpc-status'] ?? head['grpc-status'] };
}

test('an answer is headers with its metadata, one frame, and trailers', async () => {
  const message = Buffer.from('hello');
  const reply = await send({ ':path': '/test/Echo' }, toGrpcFrame(message));
  expect(reply.head).toMatchObject({ ':status': 200, 'content-type': 'application/grpc', 'x-size': '5' });
  expect(reply.body).toEqual(toGrpcFrame(message));
  expect(reply.trailers).toMatchObject({ 'grpc-status': '0' });
  expect(reply.trailers).not.toHaveProperty('grpc-message');
});

test('a refusal keeps its metadata in front, its message percent-encoded', async () => {
  const reply = await send({ ':path': '/test/Refuse' }, toGrpcFrame(new Uint8Array()));
  expect(reply.head).toMatchObject({ ':status': 200, 'x-a': '1' });
  expect(reply.trailers).toMatchObject({ 'grpc-status': '5', 'grpc-message': 'n%C3%A9 100 %25' });
  expect(reply.body).toHaveLength(0);
});

test('a stream is answered message by message', async () => {
  const frames = ['a', '', 'ccc'].map((text) => toGrpcFrame(Buffer.from(text)));
  const reply = await send({ ':path': '/test/EchoAll' }, Buffer.concat(frames));
  expect(reply.body).toEqual(Buffer.concat(frames));
  expect(reply.status).toBe('0');
});

test('more questions than buffers hold are all answered once the client reads', async () => {
  const stream = session.request({ ...grpc, ':path': '/test/EchoAll' });
  const frame = toGrpcFrame(new Uint8Array(1_000));
  const count = 2_000;
  for (let index = 0; index < count; index += 1) stream.write(frame);
  stream.end();
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  expect(bytes).toBe(count * frame.length);
});

const whole = toGrpcFrame(Buffer.from('x'));
test.each([
  ['an unknown method', { ':path': '/test/None' }, whole, '12'],
  ['a compression it does not know', { ':path': '/test/Echo', 'grpc-encoding': 'gzip' }, whole, '12'],
  ['a compressed message', { ':path': '/test/Echo' }, Buffer.from([1, 0, 0, 0, 0]), '13'],
  ['a message over the limit', { ':path': '/test/Echo' }, toGrpcFrame(new Uint8Array(1_001)), '8'],
  ['an announced gigabyte', { ':path': '/test/EchoAll' }, Buffer.from([0, 64, 0, 0, 0]), '8'],
  ['an answer over the limit', { ':path': '/test/Large' }, whole, '8'],
  ['no message', { ':path': '/test/Echo' }, Buffer.alloc(0), '13'],
  ['half a message', { ':path': '/test/Echo' }, whole.subarray(0, 5), '13'],
  ['half a message in a stream', { ':path': '/test/EchoAll' }, whole.subarray(0, 5), '13'],
  ['two messages in a unary call', { ':path': '/test/Echo' }, Buffer.concat([whole, whole]), '13'],
])('%s is refused with a gRPC status', async (_, headers, body, status) => {
  expect(await send(headers, body)).toMatchObject({ head: { ':status': 200 }, status });
});

test.each([
  ['/test/None', whole, '12'],
  ['/test/Echo', toGrpcFrame(new Uint8Array(1_001)), '8'],
  ['/test/EchoAll', toGrpcFrame(new Uint8Array(1_001)), '8'],
])('a client of %s that would continue to send is refused and stopped', async (path, body, status) => {
  expect(await send({ ':path': path }, body, { open: true })).toMatchObject({ status });
});

test.each([
  ['a PUT', { ':method': 'PUT', ':path': '/test/Echo' }, 405],
  ['JSON', { ':path': '/test/Echo', 'content-type': 'application/json' }, 415],
  ['a cousin of gRPC', { ':path': '/test/Echo', 'content-type': 'application/grpc-web' }, 415],
])('%s is refused with an HTTP status', async (_, headers, status) => {
  expect((await send(headers, new Uint8Array())).head).toMatchObject({ ':status': status });
});

test('what a method throws goes to the log and not to the client', async () => {
  const reply = await send({ ':path': '/test/Break' }, whole);
  expect(reply.trailers).toMatchObject({ 'grpc-status': '13', 'grpc-message': 'internal error' });
  expect(failures).toEqual([new Error('a secret')]);
});

test('calls given up half way and bytes that are no HTTP/2 leave the server well', async () => {
  for (const path of ['/test/Echo', '/test/EchoAll', '/test/None']) {
    const stream = session.request({ ...grpc, ':path': path });
    stream.on('error', () => {});
    stream.write(whole.subarray(0, 3));
    stream.close(constants.NGHTTP2_CANCEL);
    await once(stream, 'close');
  }
  const socket = connectTcp(Number(session.socket.remotePort));
  socket.on('error', () => {});
  socket.resume().end('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'close');
  expect((await send({ ':path': '/test/Echo' }, whole)).status).toBe('0');
});

test('a flood of calls that are reset at once leaves the server well', async () => {
  const flood = connect(`http://127.0.0.1:${session.socket.remotePort}`);
  flood.on('error', () => {});
  for (let round = 0; round < 20 && !flood.closed; round += 1) {
    const streams = [...methods.keys(), '/test/None'].flatMap((path) =>
      Array.from({ length: 10 }, (_, index) => {
        const stream = flood.request({ ...grpc, ':path': path, ...(index === 0 && { ':method': 'PUT' }) });
        stream.on('error', () => {});
        if (index % 2 === 0) stream.end(whole);
        return stream;
      }),
    );
    if (round % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
  }
  flood.destroy();
  expect((await send({ ':path': '/test/Echo' }, whole)).status).toBe('0');
});
