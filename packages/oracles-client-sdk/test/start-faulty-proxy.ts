import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** What one connection through the proxy has carried so far. */
export interface Carried {
  request: string;
  responseBytes: number;
  isStream: boolean;
}

/**
 * A proxy that breaks connections: `isCut` is asked before the service sees a piece of a request and before the client
 * sees a piece of a reply. Of a reply that is cut, half of the piece still goes out.
 */
export async function startFaultyProxy(
  target: URL,
  isCut: (carried: Carried, direction: 'request' | 'response') => boolean,
) {
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const carried: Carried = { request: '', responseBytes: 0, isStream: false };
    const cut = () => {
      cuts += 1;
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (bytes) => {
      carried.request += bytes.toString('latin1');
      if (isCut(carried, 'request')) cut();
      else upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      carried.isStream ||= bytes.includes('text/event-stream');
      carried.responseBytes += bytes.length;
      if (!isCut(carried, 'response')) client.write(bytes);
      else if (carried.isStream) client.write(bytes.subarray(0, bytes.length >> 1), cut);
      else cut();
    });
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    close: () => void server.close(),
  };
}
