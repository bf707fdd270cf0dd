// Calls against Node's own HTTP/2 server, and against a raw socket for what that server never sends.
import { once } from 'node:events';
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream, type Settings } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { waitFor } from '@palaver/test-kit';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import type { Received } from './call.ts';
import { flag, frameType, preface, toFrame, toUint32 } from './frames.ts';
import { encodeFields } from './hpack.ts';
import { Http2Session } from './session.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const fixed = [':method', 'POST', ':scheme', 'http', ':path', '/x', ':authority', 'node'];

interface Opened {
  session: Http2Session;
  events: string[];
  call(body?: Buffer, fields?: string[]): Promise<Received>;
}

async function open(server: Server | Http2Server): Promise<Opened> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const events: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const session = new Http2Session({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    onReady: resolve,
    onGoaway: () => events.push('goaway'),
    onClose: () => events.push('close'),
  });
  closing.push(() => {
    session.destroy();
    server.close();
  });
  await promise;
  return {
    session,
    events,
    call: (body = Buffer.from('ask'), fields = []) =>
      new Promise((onEnd) => {
        session.request(encodeFields([...fixed, ...fields]), body, { refuses: () => false, onEnd });
      }),
  };
}

function openHttp2(onStream: (stream: ServerHttp2Stream, body: Buffer, path: string) => void, settings: Settings = {}) {
  const server = createHttp2Server({ settings });
  server.on('session', (session) => session.on('error', () => undefined));
  server.on('stream', async (stream, headers) => {
    stream.on('error', () => undefined);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    onStream(stream, Buffer.concat(chunks), String(headers[':path']));
  });
  return open(server);
}

const toObject = (fields: string[] = []) =>
  Object.fromEntries(fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1]]] : [])));

interface Wanted {
  headers: Record<string, string>;
  trailers: Record<string, string>;
  size: number;
}

test('headers, body and trailers of any content and size arrive, in whatever order calls end', async () => {
  const { call } = await openHttp2((stream, body) => {
    const { headers, trailers, size } = JSON.parse(body.toString()) as Wanted;
    stream.respond({ ':status': 200, ...headers }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.end(Buffer.alloc(size, 'x'));
  });
  const name = fc.stringMatching(/^x-[a-z0-9_-]{1,20}$/);
  const fields = fc.dictionary(name, fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/), { maxKeys: 12 });
  const answer = fc.record({ headers: fields, trailers: fields, size: fc.nat(100_000) });
  await fc.assert(
    fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 10 }), async (answers) => {
      const received = await Promise.all(answers.map((wanted) => call(Buffer.from(JSON.stringify(wanted)))));
      for (const [at, wanted] of answers.entries()) {
        const { headers, trailers, body, resetCode } = received[at] as Received;
        expect(toObject(headers)).toMatchObject({ ':status': '200', ...wanted.headers });
        expect({ ...toObject(trailers) }).toEqual({ ...wanted.trailers });
        expect(body.length).toBe(wanted.size);
        expect(resetCode).toBeUndefined();
      }
    }),
    { numRuns: 40 },
  );
});

test('a request larger than the windows of the node arrives whole', async () => {
  const { call } = await openHttp2(
    (stream, body) => {
      stream.respond({ ':status': 200, 'x-size': String(body.length) });
      stream.end();
    },
    { initialWindowSize: 1_000 },
  );
  const [one, two] = await Promise.all([call(Buffer.alloc(300_000)), call(Buffer.alloc(200_000))]);
  expect(toObject(one?.headers)['x-size']).toBe('300000');
  expect(toObject(two?.headers)['x-size']).toBe('200000');
});

test('header fields larger than a frame arrive', async () => {
  const { call } = await openHttp2((stream, _body, path) => {
    stream.respond({ ':status': 200, 'x-path': path });
    stream.end();
  });
  const { headers } = await call(Buffer.alloc(0), ['x-large', 'v'.repeat(40_000)]);
  expect(toObject(headers)).toMatchObject({ ':status': '200', 'x-path': '/x' });
});

test('an answer larger than the windows of the gateway arrives whole', async () => {
  const { call } = await openHttp2((stream) => {
    stream.respond({ ':status': 200 });
    stream.end(Buffer.alloc(70 * 1024 * 1024, 1));
  });
  expect((await call()).body.length).toBe(70 * 1024 * 1024);
});

test('calls beyond what the node takes at once wait, and can be given up while they do', async () => {
  const held: ServerHttp2Stream[] = [];
  const { call, session } = await openHttp2((stream) => held.push(stream), { maxConcurrentStreams: 2 });
  const ended: number[] = [];
  for (let at = 0; at < 4; at += 1) void call().then(() => ended.push(at));
  const given = Promise.withResolvers<Received>();
  const cancel = session.request(Buffer.alloc(0), Buffer.alloc(0), { refuses: () => false, onEnd: given.resolve });
  cancel();
  expect((await given.promise).headers).toBeUndefined();
  for (let round = 0; round < 4; round += 1) {
    await waitFor('a call', () => held.length > 0);
    expect(held.length).toBeLessThanOrEqual(2);
    held.shift()?.respond({ ':status': 200 }, { endStream: true });
  }
  await waitFor('all', () => ended.length === 4);
});

test('calls that take longer than thousands of later ones get their own answers, or can be given up', async () => {
  const held: ServerHttp2Stream[] = [];
  const { call, session } = await openHttp2((stream, body) => {
    if (body.length > 0) stream.respond({ ':status': 200, 'x-asked': body.toString() }, { endStream: true });
    else held.push(stream);
  });
  const slow = [call(Buffer.alloc(0)), call(Buffer.alloc(0))];
  const given = Promise.withResolvers<Received>();
  const handlers = { refuses: () => false, onEnd: given.resolve };
  const cancel = session.request(encodeFields(fixed), Buffer.alloc(0), handlers);
  for (let round = 0; round < 30; round += 1) {
    const asked = Array.from({ length: 100 }, (_, at) => `${round} ${at}`);
    const answers = await Promise.all(asked.map((text) => call(Buffer.from(text))));
    expect(answers.map(({ headers }) => toObject(headers)['x-asked'])).toEqual(asked);
  }
  cancel();
  expect((await given.promise).headers).toBeUndefined();
  for (const [at, stream] of held.entries())
    if (!stream.closed) stream.respond({ ':status': 201 + at }, { endStream: true });
  expect((await Promise.all(slow)).map(({ headers }) => toObject(headers)[':status'])).toEqual(['201', '202']);
});

/** A node of raw frames: `script` gets each request's stream id. */
function openRaw(script: (socket: Socket, stream: number) => void): Promise<Opened> {
  return open(
    createServer((socket) => {
      let seen = Buffer.alloc(0);
      let at = preface.length;
      socket.on('error', () => undefined);
      socket.write(toFrame(frameType.settings, 0, 0, Buffer.alloc(0)));
      socket.on('data', (chunk: Buffer) => {
        seen = Buffer.concat([seen, chunk]);
        while (seen.length >= at + 9 && seen.length >= at + 9 + seen.readUIntBE(at, 3)) {
          const [length, type, flags] = [seen.readUIntBE(at, 3), seen[at + 3], seen[at + 4] ?? 0];
          const stream = seen.readUInt32BE(at + 5);
          at += 9 + length;
          if (type === frameType.data && flags & flag.endStream) script(socket, stream);
        }
      });
    }),
  );
}

const okBlock = encodeFields([':status', '200', 'x-a', 'b']);
const headersFrame = (stream: number, flags: number = flag.endHeaders, payload: Buffer = okBlock) =>
  toFrame(frameType.headers, flags, stream, payload);
const endFrame = (stream: number) =>
  headersFrame(stream, flag.endHeaders | flag.endStream, encodeFields(['grpc-status', '0']));

test('padding, priorities, blocks in pieces, provisional answers and unknown frames are understood', async () => {
  const { call } = await openRaw((socket, stream) => {
    const padded = Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 9]), okBlock.subarray(0, 2), Buffer.alloc(3)]);
    const frames = [
      headersFrame(stream, flag.endHeaders, encodeFields([':status', '103', 'link', 'x'])),
      toFrame(0xee, 0xff, stream, Buffer.from('unknown')),
      headersFrame(stream, flag.padded | flag.priority, padded),
      toFrame(frameType.continuation, 0, stream, okBlock.subarray(2, 4)),
      toFrame(frameType.continuation, flag.endHeaders, stream, okBlock.subarray(4)),
      toFrame(frameType.priority, 0, stream, Buffer.alloc(5)),
      toFrame(frameType.data, flag.padded, stream, Buffer.from([2, ...Buffer.from('hello'), 0, 0])),
      endFrame(stream),
    ];
    // One byte at a time: frames end where they end, not where packets do.
    for (const byte of Buffer.concat(frames)) socket.write(Buffer.from([byte]));
  });
  const { headers, trailers, body } = await call();
  expect(toObject(headers)).toEqual({ ':status': '200', 'x-a': 'b' });
  expect(toObject(trailers)).toEqual({ 'grpc-status': '0' });
  expect(body.toString()).toBe('hello');
});

const wrong = {
  'a frame that is too large': (stream: number) => {
    const frame = toFrame(frameType.data, 0, stream, Buffer.alloc(1));
    frame.writeUIntBE(16_385, 0, 3);
    return frame;
  },
  'a block that is no header block': (stream: number) => headersFrame(stream, flag.endHeaders, Buffer.from([0xff])),
  'an answer to a call that was never made': () => headersFrame(99),
  'a stream of the node': () => headersFrame(2),
  'another frame inside a block': (stream: number) =>
    Buffer.concat([headersFrame(stream, 0), toFrame(frameType.ping, 0, 0, Buffer.alloc(8))]),
  'a continuation of nothing': (stream: number) => toFrame(frameType.continuation, flag.endHeaders, stream, okBlock),
  'a block without end': (stream: number) =>
    Buffer.concat([
      headersFrame(stream, 0),
      ...Array.from({ length: 40 }, () => toFrame(frameType.continuation, 0, stream, Buffer.alloc(10))),
    ]),
  'a push': (stream: number) => toFrame(frameType.pushPromise, flag.endHeaders, stream, Buffer.alloc(10)),
  'a ping of seven bytes': () => toFrame(frameType.ping, 0, 0, Buffer.alloc(7)),
  'a window beyond its bound': () => toFrame(frameType.windowUpdate, 0, 0, toUint32(0x7fffffff)),
  'settings that are cut': () => toFrame(frameType.settings, 0, 0, Buffer.alloc(5)),
};
test.each(Object.entries(wrong))('%s ends the connection and every call on it', async (_name, toBytes) => {
  const { call, events, session } = await openRaw((socket, stream) => socket.write(toBytes(stream)));
  expect(await call()).toMatchObject({ headers: undefined, body: Buffer.alloc(0) });
  expect(events).toEqual(['close']);
  expect(session.isOpen()).toBe(false);
});

test('an answer that breaks the rules of its stream ends that call alone', async () => {
  const faults = [
    (stream: number) => toFrame(frameType.data, 0, stream, Buffer.from('no headers')),
    (stream: number) => headersFrame(stream, flag.endHeaders, encodeFields(['x-a', 'no status'])),
    (stream: number) => Buffer.concat([headersFrame(stream), headersFrame(stream)]),
    (stream: number) => toFrame(frameType.rstStream, 0, stream, toUint32(2)),
  ];
  const { call, events } = await openRaw((socket, stream) => {
    const fault = faults.shift();
    socket.write(fault ? fault(stream) : Buffer.concat([headersFrame(stream), endFrame(stream)]));
  });
  for (let round = 0; round < 4; round += 1) expect((await call()).resetCode).toBeGreaterThan(0);
  expect(toObject((await call()).headers)[':status']).toBe('200');
  expect(events).toEqual([]);
});

test('calls that the node did not take before its goodbye end as refused, the others as usual', async () => {
  const streams: number[] = [];
  const { call, events } = await openRaw((socket, stream) => {
    streams.push(stream);
    if (streams.length < 2) return;
    socket.write(toFrame(frameType.goaway, 0, 0, Buffer.concat([toUint32(1), toUint32(0)])));
    socket.write(Buffer.concat([headersFrame(1), endFrame(1)]));
  });
  const [first, second] = await Promise.all([call(), call()]);
  expect(toObject(first?.headers)[':status']).toBe('200');
  expect(second).toMatchObject({ headers: undefined, resetCode: 7 });
  await waitFor('the end', () => events.includes('close'));
  expect(events).toEqual(['goaway', 'close']);
});

test('whatever bytes a node sends, every call ends and nothing is thrown', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(10), fc.nat(255), fc.constantFrom(0, 1, 3), fc.uint8Array({ maxLength: 30 }))),
      async (frames) => {
        const { call, session } = await openRaw((socket) => {
          for (const [type, flags, stream, payload] of frames) socket.write(toFrame(type, flags, stream, payload));
          socket.end();
        });
        await call();
        session.destroy();
      },
    ),
    { numRuns: 100 },
  );
});
