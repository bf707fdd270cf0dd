// The floor of a query without a cache: Node's HTTP server and HTTP/2 client, without URLs, JSON or limits.
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { toGrpcFrame } from '../../packages/service-kit/src/grpc-frames.ts';

const authority = process.env.UPSTREAM ?? '';
const session = connect(`http://${authority}`, { settings: { enablePush: false, initialWindowSize: 4 * 1024 * 1024 } });
session.once('remoteSettings', () => session.setLocalWindowSize(32 * 1024 * 1024));

/** The node knows by the first field which answer is meant. */
const requests = {
  '/ixo/token/params': toGrpcFrame(Uint8Array.from([0x08, 1])),
  '/ixo/entities': toGrpcFrame(Uint8Array.from([0x0a, 2, 0x10, 1])),
  '/ixo/entity/': toGrpcFrame(Uint8Array.from([0x0a, 1, 0x31])),
};
const fields = [
  ...[':method', 'POST', ':scheme', 'http', ':path', '/palaver.bench.Query/Any', ':authority', authority],
  ...['content-type', 'application/grpc', 'te', 'trailers', 'grpc-timeout', '10000m'],
];

const server = createServer(({ url = '' }, response) => {
  const [, request] = Object.entries(requests).find(([path]) => url.startsWith(path)) ?? [];
  const stream = session.request([...fields], { endStream: false });
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('trailers', () => {
    while (stream.readableLength > 0 && stream.read() !== null); // emits `data`
    const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    response.writeHead(200, ['content-type', 'application/json', 'content-length', String(body.length)]);
    response.end(body);
  });
  stream.end(request);
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
