import { once } from 'node:events';
import { connect } from 'node:http2';
import { toGrpcFrame } from '@palaver/service-kit/internal';
import { expect, test } from 'vitest';
import { createGrpcServer, type Method } from '../grpc.ts';

const methods = new Map<string, Method>([
  ['/test/EchoAll', { streaming: true, open: () => (message) => ({ ok: true, message }) }],
]);
const limits = { maxRequestBytes: 1_000, maxReplyBytes: 1_000, idleMs: 60_000 };
const request = {
  ':method': 'POST',
  ':path': '/test/EchoAll',
  'content-type': 'application/grpc',
};

async function start() {
  const server = createGrpcServer({ methods, limits, onError: () => {} });
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  await once(session, 'connect');
  return { server, session, port };
}

test('closing ends open streams with UNAVAILABLE, then the connection, and frees the port', async () => {
  const { server, session, port } = await start();
  const stream = session.request(request);
  stream.on('error', () => {});
  stream.write(toGrpcFrame(Buffer.from('x')));
  const [chunk] = await once(stream, 'data');
  expect(chunk).toEqual(toGrpcFrame(Buffer.from('x')));
  const ended = once(stream, 'trailers');
  const gone = once(session, 'close');
  await server.close(30_000);
  expect((await ended)[0]).toMatchObject({ 'grpc-status': '14' });
  await gone;
  const again = createGrpcServer({ methods, limits, onError: () => {} });
  expect(await again.listen({ host: '127.0.0.1', port })).toBe(port);
  await again.close(0);
});

test('what does not finish within the grace is cut', async () => {
  const { server, session } = await start();
  // A path without a method would be refused; a unary call that never ends its request stays open.
  methods.set('/test/Wait', { streaming: false, open: () => (message) => ({ ok: true, message }) });
  const stream = session.request({ ...request, ':path': '/test/Wait' });
  stream.on('error', () => {});
  await new Promise<void>((resolve) => session.ping(() => resolve()));
  await server.close(50);
  await (stream.closed ? undefined : once(stream, 'close'));
  expect(session.destroyed || session.closed).toBe(true);
});

test('an address that cannot be listened on rejects', async () => {
  const { server, session, port } = await start();
  const second = createGrpcServer({ methods, limits, onError: () => {} });
  await expect(second.listen({ host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  session.close();
  await server.close(1_000);
});

test('a call on which nothing moves is cancelled', async () => {
  const server = createGrpcServer({ methods, limits: { ...limits, idleMs: 50 }, onError: () => {} });
  const session = connect(`http://127.0.0.1:${await server.listen({ host: '127.0.0.1', port: 0 })}`);
  const stream = session.request(request);
  await expect(once(stream, 'close').then(() => stream.rstCode)).resolves.toBe(8);
  session.close();
  await server.close(1_000);
});
