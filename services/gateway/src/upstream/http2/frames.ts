// Frames of HTTP/2 (RFC 9113): nine bytes of head, then the payload.

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;
export const errorCode = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;
export const setting = { enablePush: 2, maxConcurrentStreams: 3, initialWindowSize: 4, maxFrameSize: 5 } as const;

export const headSize = 9;
/** The largest payload unless both ends agree on more; the gateway does not. */
export const maxPayload = 16_384;
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export interface FrameHead {
  length: number;
  type: number;
  flags: number;
  stream: number;
}

export function writeHead(out: Buffer, at: number, { length, type, flags, stream }: FrameHead): void {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  out.writeUInt32BE(stream, at + 5);
}

export function toFrame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headSize + payload.length);
  writeHead(frame, 0, { length: payload.length, type, flags, stream });
  frame.set(payload, headSize);
  return frame;
}

export function toUint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function toSettings(values: Record<number, number>): Buffer {
  const entries = Object.entries(values);
  const payload = Buffer.alloc(6 * entries.length);
  for (const [index, [id, value]] of entries.entries()) {
    payload.writeUInt16BE(Number(id), index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  }
  return toFrame(frameType.settings, 0, 0, payload);
}

/** The peer breaks the rules of the whole connection. */
export class ProtocolError extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`HTTP/2 error ${code}`);
    this.code = code;
  }
}

export function stripPadding(payload: Buffer): Buffer {
  const padding = payload[0] ?? 0;
  if (payload.length === 0 || padding >= payload.length) throw new ProtocolError(errorCode.protocol);
  return payload.subarray(1, payload.length - padding);
}

/** The block of headers in the payload of its first frame. */
export function stripHeaders({ flags }: FrameHead, payload: Buffer): Buffer {
  const bare = flags & flag.padded ? stripPadding(payload) : payload;
  if (!(flags & flag.priority)) return bare;
  if (bare.length < 5) throw new ProtocolError(errorCode.frameSize);
  return bare.subarray(5);
}

/** Cuts what a socket delivers into frames. Payloads of plain data are handed over as they come, others whole. */
export class FrameReader {
  private readonly head = Buffer.alloc(headSize);
  private headFill = 0;
  private frame: FrameHead = { length: 0, type: 0, flags: 0, stream: 0 };
  private missing = 0;
  private parts: Buffer[] = [];

  private readonly onFrame: (frame: FrameHead, payload: Buffer, isEnd: boolean) => void;

  /** `isEnd` is false for a part of plain data after which more of the same frame comes. */
  constructor(onFrame: (frame: FrameHead, payload: Buffer, isEnd: boolean) => void) {
    this.onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.headFill < headSize) {
        const taken = Math.min(headSize - this.headFill, chunk.length - at);
        chunk.copy(this.head, this.headFill, at, at + taken);
        this.headFill += taken;
        at += taken;
        if (this.headFill < headSize) return;
        const { head } = this;
        const length = head.readUIntBE(0, 3);
        if (length > maxPayload) throw new ProtocolError(errorCode.frameSize);
        this.frame = {
          length,
          type: head[3] ?? 0,
          flags: head[4] ?? 0,
          stream: head.readUInt32BE(5) & 0x7fffffff,
        };
        this.missing = length;
        if (length > 0) continue;
      }
      const end = Math.min(chunk.length, at + this.missing);
      this.take(chunk.subarray(at, end));
      at = end;
    }
  }

  private take(bytes: Buffer): void {
    const { frame } = this;
    this.missing -= bytes.length;
    const isEnd = this.missing === 0;
    if (isEnd) this.headFill = 0;
    const isPlainData = frame.type === frameType.data && !(frame.flags & flag.padded);
    if (isPlainData) this.onFrame(frame, bytes, isEnd);
    else if (!isEnd) this.parts.push(bytes);
    else {
      const payload = this.parts.length === 0 ? bytes : Buffer.concat([...this.parts, bytes]);
      this.parts = [];
      this.onFrame(frame, payload, true);
    }
  }
}
