// The node: gRPC over HTTP/2 with answers made beforehand, so that the fronts are what is measured.
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createAnswers } from './answers.ts';

const frames = new Map(
  Object.entries(await createAnswers()).map(([path, message]) => {
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    return [path, frame];
  }),
);

const server = createServer({ settings: { maxConcurrentStreams: 1000 } });
server.on('stream', (stream, headers) => {
  const frame = frames.get(headers[':path'] ?? '');
  stream.on('error', () => undefined);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': frame ? '0' : '12' }));
  stream.end(frame);
  stream.resume();
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
