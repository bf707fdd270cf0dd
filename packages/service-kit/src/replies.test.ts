import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createServer } from './create-server.ts';
import { createLogger } from './logger.ts';
import { openEventStream, sendFile, toCsvLines } from './replies.ts';
import { listen } from './run-service.ts';

async function start(destination = new PassThrough()) {
  const logger = createLogger({ name: 'test', level: 'warn', destination });
  return createServer({
    name: 'test',
    logger,
    bodyLimit: 1_000,
    trustProxy: false,
    operatorToken: undefined,
    health: async () => ({ healthy: true, body: {} }),
  });
}

test('a stream that has ended says nothing more to a reader who is still behind', async () => {
  const server = await start();
  const long = 'x'.repeat(20_000_000);
  server.get('/stream', async (_request, reply) => {
    const stream = openEventStream(reply, { heartbeatMs: 1 });
    stream?.write(long);
    stream?.end('the end');
    return reply;
  });
  const { port } = new URL(await listen(server, { host: '127.0.0.1', port: 0 }));
  const socket = connect(Number(port), '127.0.0.1').pause();
  socket.write('GET /stream HTTP/1.0\r\n\r\n');
  await sleep(100);
  expect(await text(socket)).toMatch(/xthe end$/);
  await server.close();
});

test('a file that cannot be written to its end is cut off, and the log has the cause', async () => {
  const lines = new PassThrough();
  const server = await start(lines);
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

test.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+1+cmd()', "'+1+cmd()"],
  ['-2', "'-2"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['+254700000001', '+254700000001'],
  ['\n=1+1', `"'\n'=1+1"`],
  ['\r=1+1', `"'\r'=1+1"`],
  ['\t=1+1', `"'\t'=1+1"`],
  [' =1+1', "' =1+1"],
  ['\uff1d1+1', "'\uff1d1+1"],
  ['maize;=1+1', `"maize;'=1+1"`],
  ['maize\t @SUM(A1)', `"maize\t '@SUM(A1)"`],
  ['a; b', '"a; b"'],
  ['3-4=5', '3-4=5'],
])('the cell %j is written as %j', (value, cell) => {
  expect(toCsvLines([[value, 'z']])).toBe(`${cell},z\r\n`);
});

test.each([
  ['+254700000001', '"=""+254700000001"""'],
  ['254700000001', '"=""254700000001"""'],
  ['0712345678', '"=""0712345678"""'],
  ['12', '12'],
  ['0', '0'],
  ['+1+cmd()', "'+1+cmd()"],
])('for a spreadsheet the cell %j is written as %j', (value, cell) => {
  expect(toCsvLines([[value, 'z']], { forSpreadsheet: true })).toBe(`${cell},z\r\n`);
});
