// Answers made beforehand, with as little HTTP/2 as a unary call needs: Node's own costs as much CPU as the fronts.
// Headers are not decoded: the first bytes of the request show which answer is meant.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { loadAnswers } from './answers.ts';

const kind = { data: 0, headers: 1, settings: 4, ping: 6, windowUpdate: 8 };
const flag = { ack: 1, endStream: 1, endHeaders: 4 };
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length;
const headSize = 9;

function toFrame(type: number, flags: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(headSize + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.set(payload, headSize);
  return frame;
}

/** HPACK without its tables: `:status` 200 is entry 8 of the fixed one, `content-type` 31. */
const text = (value: string) => Buffer.from([value.length, ...Buffer.from(value)]);
const headers = Buffer.concat([Buffer.from([0x88, 0x0f, 0x10]), text('application/grpc')]);
const trailers = Buffer.concat([Buffer.from([0]), text('grpc-status'), text('0')]);

/** The three frames of an answer in one piece, and where the numbers of their stream go. */
function toReply(message: Uint8Array) {
  const body = Buffer.concat([Buffer.alloc(5), message]);
  body.writeUInt32BE(message.length, 1);
  const frames = [
    toFrame(kind.headers, flag.endHeaders, headers),
    toFrame(kind.data, 0, body),
    toFrame(kind.headers, flag.endHeaders | flag.endStream, trailers),
  ] as const;
  const second = frames[0].length;
  return { bytes: Buffer.concat(frames), weight: body.length, at: [0, second, second + frames[1].length] };
}

const { answers } = await loadAnswers();
const params = toReply(answers.params.bytes);
const entity = toReply(answers.entity.bytes);
const list = toReply(answers.list.bytes);

/** `{ height }`, `{ id }` or `{ pagination: { offset } }`: the tags of the first fields distinguish them. */
function replyTo(request: Buffer) {
  if (request[5] === 0x08) return params;
  return request[7] === 0x10 ? list : entity;
}

function serve(socket: Socket): void {
  let received: Buffer = Buffer.alloc(0);
  let at = preface;
  let window = 65_535;
  const asked = new Map<number, ReturnType<typeof toReply>>();
  const waiting: number[] = [];
  let out: Buffer[] = [];

  const answer = (stream: number) => {
    const reply = asked.get(stream);
    if (!reply) return;
    if (reply.weight > window) {
      waiting.push(stream);
      return;
    }
    window -= reply.weight;
    asked.delete(stream);
    const bytes = Buffer.from(reply.bytes);
    for (const frame of reply.at) bytes.writeUInt32BE(stream, frame + 5);
    out.push(bytes);
  };
  const take = (type: number, flags: number, stream: number, payload: Buffer) => {
    if (type === kind.settings && !(flags & flag.ack)) out.push(toFrame(kind.settings, flag.ack, Buffer.alloc(0)));
    else if (type === kind.ping && !(flags & flag.ack)) out.push(toFrame(kind.ping, flag.ack, payload));
    else if (type === kind.windowUpdate && stream === 0) {
      window += payload.readUInt32BE();
      for (const held of waiting.splice(0)) answer(held);
    } else if (type === kind.data) {
      if (payload.length > 0) asked.set(stream, replyTo(payload));
      if (flags & flag.endStream) answer(stream);
    }
  };

  socket.setNoDelay(true).on('error', () => socket.destroy());
  // 1,000 calls at once, and as many bytes of requests as there can be.
  socket.write(toFrame(kind.settings, 0, Buffer.from([0, 3, 0, 0, 3, 232])));
  socket.write(toFrame(kind.windowUpdate, 0, Buffer.from([0x7f, 0xfe, 0, 0])));
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    while (received.length >= at + headSize) {
      const end = at + headSize + received.readUIntBE(at, 3);
      if (received.length < end) break;
      const [type = 0, flags = 0] = [received[at + 3], received[at + 4]];
      take(type, flags, received.readUInt32BE(at + 5), received.subarray(at + headSize, end));
      at = end;
    }
    received = received.subarray(Math.min(at, received.length));
    at = 0;
    if (out.length > 0) socket.write(Buffer.concat(out));
    out = [];
  });
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
