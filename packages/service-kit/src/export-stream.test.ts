import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createServer } from './create-server.ts';
import { sendFile } from './export-stream.ts';
import { createLogger } from './logger.ts';
import { listen } from './run-service.ts';

test('a file that cannot be written to its end is cut off, and the log has the cause', async () => {
  const lines = new PassThrough();
  const logger = createLogger({ name: 'test', level: 'warn', destination: lines });
  const server = await createServer({
    ...{ name: 'test', logger, bodyLimit: 1_000, trustProxy: false, operatorToken: undefined },
    health: async () => ({ healthy: true, body: {} }),
  });
  server.get('/file', (_request, reply) =>
    sendFile(
      server,
      reply,
      'a.csv',
      (async function* () {
        yield 'first,';
        throw new Error('the disk is full');
      })(),
    ),
  );
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  await expect(fetch(`${url}/file`).then((reply) => reply.text())).rejects.toThrow();
  await server.close();
  lines.end();
  expect(await text(lines)).toContain('the disk is full');
});
