import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TcpProxy extends AsyncDisposable {
  port: number;
  /** Ends every connection and refuses new ones. */
  cut(): void;
  /** Accepts and keeps connections, and passes nothing on. */
  stall(): void;
  /** Holds every piece back for so long. */
  delay(ms: number): void;
  /** Forwards at most this many bytes a second, per direction of a connection. */
  throttle(bytesPerSecond: number): void;
  /** Ends every connection once; new ones are accepted. */
  drop(): void;
  /** Back to passing everything on. Connections that were stalled continue. */
  restore(): void;
}

/** A network between a client and a server of loopback that can fail. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const resumes = new Set<() => void>();
  let mode: 'pass' | 'cut' | 'stall' = 'pass';
  let delayMs = 0;
  let bytesPerSecond = Number.POSITIVE_INFINITY;

  async function carry(from: Socket, to: Socket): Promise<void> {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      if (mode === 'stall') await new Promise<void>((resolve) => resumes.add(resolve));
      const waitMs = delayMs + (chunk.length / bytesPerSecond) * 1000;
      if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
      if (!to.write(chunk)) await once(to, 'drain');
    }
    to.end();
  }

  const server = createServer((client) => {
    if (mode === 'cut') return void client.destroy();
    const upstream = connect(targetPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      carry(from, to).catch(() => from.destroy());
  });
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  const release = () => {
    for (const resume of resumes) resume();
    resumes.clear();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      mode = 'cut';
      drop();
    },
    stall() {
      mode = 'stall';
    },
    delay(ms) {
      delayMs = ms;
    },
    throttle(limit) {
      bytesPerSecond = limit;
    },
    drop,
    restore() {
      mode = 'pass';
      delayMs = 0;
      bytesPerSecond = Number.POSITIVE_INFINITY;
      release();
    },
    async [Symbol.asyncDispose]() {
      mode = 'cut';
      release();
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
