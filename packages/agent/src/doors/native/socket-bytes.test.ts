import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, type Socket as NetSocket } from 'node:net';
import { waitFor } from '@palaver/test-kit';
import { Server } from 'socket.io';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limitSocketBytes } from './socket-bytes.ts';

const heldBytes = 4 * 1024 * 1024;
let http: HttpServer;
let io: Server;
let over: number;
const opened: (NetSocket | WebSocket)[] = [];

beforeEach(async () => {
  http = createServer();
  io = new Server(http, { maxHttpBufferSize: 1_300_000, connectTimeout: 600_000, pingInterval: 600_000 });
  over = 0;
  const onOver = (connection: { close(): void }) => {
    over += 1;
    connection.close();
  };
  limitSocketBytes(io, {
    ownerOf: ({ url }) => /owner=(\w+)/.exec(url ?? '')?.[1],
    onOver,
    heldBytes,
    kibPerMinute: 64,
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  for (const each of opened.splice(0)) 'destroy' in each ? each.destroy() : each.close();
  await io.close();
});

const port = () => (http.address() as AddressInfo).port;
const pathOf = (owner: string, transport = 'websocket') => `/socket.io/?EIO=4&transport=${transport}&owner=${owner}`;

async function open(owner = 'ana') {
  const socket = new WebSocket(`ws://127.0.0.1:${port()}${pathOf(owner)}`);
  opened.push(socket);
  const seen = { texts: [] as string[], isClosed: false };
  socket.onmessage = ({ data }) => void seen.texts.push(String(data));
  socket.onclose = () => {
    seen.isClosed = true;
  };
  await waitFor('the handshake', () => seen.texts.length > 0);
  return Object.assign(seen, { send: (data: string | Buffer) => socket.send(data) });
}

async function connected(owner = 'ana') {
  const socket = await open(owner);
  socket.send('40{}');
  await waitFor('the connection', () => socket.texts.some((text) => text.startsWith('40')));
  return socket;
}

/** A WebSocket without a client library: it may leave a frame unfinished, and read nothing. */
async function openRaw(owner: string): Promise<NetSocket> {
  const socket = connect(port(), '127.0.0.1');
  opened.push(socket);
  socket.on('error', () => {});
  const lines = ['host: localhost', 'connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'];
  const key = `sec-websocket-key: ${'A'.repeat(22)}==`;
  socket.write([`GET ${pathOf(owner)} HTTP/1.1`, ...lines, key, '', ''].join('\r\n'));
  await once(socket, 'data');
  return socket;
}

/** The head of a masked text frame of that length, and as much of it. */
function toFrame(length: number, sent = length): Buffer {
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(length, 6);
  return Buffer.concat([head, Buffer.alloc(sent, '4')]);
}

const isGone = (socket: NetSocket) => waitFor('the end of the connection', () => socket.destroyed);

test('binary packets are dropped with their parts, and count', async () => {
  const names: string[] = [];
  io.on('connection', (socket) => socket.onAny((name) => names.push(name)));
  const socket = await connected();
  socket.send('451-["x",{"_placeholder":true,"num":0}]');
  socket.send(Buffer.alloc(10));
  socket.send('42["y"]');
  await waitFor('the event', () => names.length > 0);
  expect([names, socket.isClosed]).toEqual([['y'], false]);
  socket.send(Buffer.alloc(70_000));
  await waitFor('the end', () => socket.isClosed);
  expect(over).toBe(1);
});

test('a connection signs in once', async () => {
  let asked = 0;
  io.use((_socket, next) => {
    asked += 1;
    setTimeout(next, 50);
  });
  const socket = await open();
  for (let at = 0; at < 20; at += 1) socket.send('40{}');
  await waitFor('the end', () => socket.isClosed);
  expect(asked).toBe(1);
});

test('what an owner sends in a minute is bounded over all connections, whatever it is', async () => {
  const [one, two, stranger] = [await connected(), await connected(), await connected('eve')];
  one.send(`42["unknown","${'x'.repeat(40_000)}"]`);
  two.send(`430["${'x'.repeat(40_000)}"]`);
  await waitFor('the end', () => two.isClosed);
  expect(over).toBe(1);
  stranger.send('42["unknown"]');
  expect([one.isClosed, stranger.isClosed]).toEqual([false, false]);
});

test('frames that do not end are held up to a limit, and strangers have their part', async () => {
  const length = 1_200_000;
  const whole = await Promise.all(Array.from({ length: 3 }, () => openRaw('ana')));
  for (const socket of whole) socket.write(toFrame(length, length - 1));
  const late = await openRaw('ana');
  late.write(toFrame(length, length - 1));
  await waitFor('one to be cut', () => [...whole, late].some((socket) => socket.destroyed));
  const stranger = await connected('eve');
  stranger.send(`42["unknown","${'x'.repeat(40_000)}"]`);
  expect(stranger.isClosed).toBe(false);
});

test('bodies of polls count too', async () => {
  const polls = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const reply = await fetch(`http://127.0.0.1:${port()}${pathOf('ana', 'polling')}`);
      const { sid } = JSON.parse((await reply.text()).slice(1));
      const socket = connect(port(), '127.0.0.1');
      opened.push(socket);
      socket.on('error', () => {}).resume();
      socket.write(
        `POST ${pathOf('ana', 'polling')}&sid=${sid} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1200000\r\n\r\n`,
      );
      socket.write('4'.repeat(1_199_000));
      return socket;
    }),
  );
  await waitFor('one to be cut', () => polls.some((socket) => socket.destroyed));
});

test('a connection that reads nothing is cut once what waits for it has no room', async () => {
  const deaf = await openRaw('ana');
  deaf.write(toMasked('40{}'));
  await waitFor('the connection', () => io.of('/').sockets.size === 1);
  deaf.pause();
  const reader = await connected('eve');
  for (let at = 0; at < 60 && !deaf.destroyed; at += 1) {
    io.emit('event', 'x'.repeat(400_000));
    await waitFor('the reader', () => reader.texts.length > at + 2);
    if (io.of('/').sockets.size === 1) break;
  }
  deaf.resume();
  await isGone(deaf);
  expect(reader.isClosed).toBe(false);
});

function toMasked(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}
