import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that passes a chosen message on to PostgreSQL and cuts the line before the reply. */
export async function startCommitCutter(target: URL) {
  const sockets = new Set<Socket>();
  let wanted: RegExp | undefined;
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    upstream.pipe(client);
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.end());
    client.on('data', (chunk) => {
      upstream.write(chunk);
      if (!wanted?.test(chunk.toString('latin1'))) return;
      wanted = undefined;
      cuts += 1;
      upstream.unpipe(client);
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: Object.assign(new URL(target), { port: String(address.port) }).href,
    /** Cuts after the next message that matches. */
    arm(pattern: RegExp) {
      wanted = pattern;
    },
    cuts: () => cuts,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
