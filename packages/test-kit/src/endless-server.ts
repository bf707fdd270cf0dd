import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface EndlessServer extends AsyncDisposable {
  url: string;
  /** What clients have taken of the answers so far, buffers of the sockets included. */
  sentBytes(): number;
}

const chunk = Buffer.alloc(64 * 1024, 'x');
/** A client without a limit is let off, so that a test fails instead of filling the memory. */
const enoughBytes = 48 * 1024 * 1024;

/** Answers every request with a body that ends only when the client leaves. */
export async function startEndlessServer(status = 200): Promise<EndlessServer> {
  let sent = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' });
    let left = enoughBytes;
    const write = () => {
      while (!response.destroyed && left > 0) {
        left -= chunk.length;
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sentBytes: () => sent,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
