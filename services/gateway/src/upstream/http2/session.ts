// A connection to a node: unary calls on HTTP/2 over one socket (RFC 9113). Node's own client makes a stream object with its
// events for every call, which costs more than the call itself; here a call is a few fields and one callback.
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Call, type CallHandlers } from './call.ts';
import { CallTable } from './call-table.ts';
import {
  errorCode,
  type FrameHead,
  FrameReader,
  flag,
  frameType,
  ProtocolError,
  preface,
  setting,
  stripHeaders,
  stripPadding,
  toFrame,
  toSettings,
  toUint32,
} from './frames.ts';
import { HeaderBlocks } from './header-blocks.ts';
import { type Fields, HpackError } from './hpack.ts';
import { defaultWindow, Sender } from './sender.ts';

export interface SessionOptions {
  host: string;
  port: number;
  /** Encrypted; these certificates, if given, are trusted instead of the system's. */
  tls?: { ca: string | undefined } | undefined;
  /** The node has sent its settings: it speaks HTTP/2. */
  onReady(): void;
  /** The node accepts no new calls; running ones may still end. */
  onGoaway(): void;
  onClose(): void;
}

/** Large answers must not wait for window updates: the window holds a whole one of the usual size. */
const streamWindow = 4 * 1024 * 1024;
const sessionWindow = 32 * 1024 * 1024;
const maxStreamId = 2 ** 31 - 1;

export class Http2Session {
  private readonly options: SessionOptions;
  private readonly socket: Socket;
  private readonly sender: Sender;
  private readonly calls = new CallTable();
  private readonly blocks = new HeaderBlocks();
  private readonly reader = new FrameReader((frame, payload, isEnd) => this.onFrame(frame, payload, isEnd));
  private isReady = false;
  private isLeaving = false;
  private isClosed = false;
  private nextId = 1;
  private maxConcurrent = Number.POSITIVE_INFINITY;
  /** Calls beyond what the node takes at once. */
  private readonly waiting: Call[] = [];
  private unacknowledged = 0;
  private readonly pings: (() => void)[] = [];

  constructor(options: SessionOptions) {
    this.options = options;
    const { host, port, tls } = options;
    this.socket = tls ? connectTls({ host, port, ...tls, ALPNProtocols: ['h2'] }) : connectTcp({ host, port });
    this.sender = new Sender(this.socket);
    this.socket.setNoDelay(true);
    this.socket.on('error', () => undefined); // always followed by `close`
    this.socket.on('close', () => this.onClose());
    this.socket.on('end', () => this.socket.destroy());
    this.socket.on('data', (chunk: Buffer) => this.onData(chunk));
    this.sender.push(preface);
    this.sender.push(toSettings({ [setting.enablePush]: 0, [setting.initialWindowSize]: streamWindow }));
    this.sender.push(toFrame(frameType.windowUpdate, 0, 0, toUint32(sessionWindow - defaultWindow)));
  }

  /** Whether calls can be begun. */
  isOpen(): boolean {
    return this.isReady && !this.isClosed && !this.isLeaving;
  }

  /** Sends one message as a call and returns a function that cancels it. */
  request(block: Buffer, body: Buffer, handlers: CallHandlers): () => void {
    const call = new Call(block, body, handlers);
    this.waiting.push(call);
    this.beginWaiting();
    return () => this.cancel(call);
  }

  ping(onAnswer: () => void): void {
    this.pings.push(onAnswer);
    this.sender.push(toFrame(frameType.ping, 0, 0, Buffer.alloc(8)));
  }

  destroy(): void {
    this.socket.destroy();
  }

  unref(): void {
    this.socket.unref();
  }

  private beginWaiting(): void {
    while (this.isOpen() && this.waiting.length > 0 && this.calls.size < this.maxConcurrent) {
      const call = this.waiting.shift() as Call;
      call.id = this.nextId;
      this.nextId += 2;
      this.calls.add(call);
      this.sender.begin(call);
      // Ids are not used twice: the next calls need another connection.
      if (this.nextId > maxStreamId) this.leave();
    }
  }

  private cancel(call: Call): void {
    if (this.calls.get(call.id) === call) {
      this.abandon(call, errorCode.cancel);
      return;
    }
    const index = this.waiting.indexOf(call);
    if (index === -1) return;
    this.waiting.splice(index, 1);
    call.end(errorCode.cancel);
  }

  private onData(chunk: Buffer): void {
    try {
      this.reader.push(chunk);
    } catch (error) {
      if (error instanceof HpackError) this.fail(errorCode.compression);
      else if (error instanceof ProtocolError) this.fail(error.code);
      else throw error;
    }
  }

  private onFrame(frame: FrameHead, payload: Buffer, isEnd: boolean): void {
    if (this.isClosed) return;
    this.blocks.check(frame);
    if (!this.isReady && frame.type !== frameType.settings) throw new ProtocolError(errorCode.protocol);
    if (frame.type === frameType.data) this.onDataFrame(frame, payload, isEnd);
    else if (frame.type === frameType.headers) this.onBlock(frame, stripHeaders(frame, payload));
    else if (frame.type === frameType.continuation) this.onBlock(frame, payload);
    else if (frame.type === frameType.rstStream) this.onReset(frame.stream, payload);
    else if (frame.type === frameType.settings) this.onSettings(frame, payload);
    else if (frame.type === frameType.ping) this.onPing(frame, payload);
    else if (frame.type === frameType.goaway) this.onGoaway(payload);
    else if (frame.type === frameType.windowUpdate) this.onWindowUpdate(frame.stream, payload);
    // Forbidden by the settings. Other frames, such as priorities and extensions, are ignored.
    else if (frame.type === frameType.pushPromise) throw new ProtocolError(errorCode.protocol);
  }

  private onDataFrame(frame: FrameHead, payload: Buffer, isEnd: boolean): void {
    this.unacknowledged += payload.length;
    if (this.unacknowledged >= sessionWindow / 2) {
      this.sender.push(toFrame(frameType.windowUpdate, 0, 0, toUint32(this.unacknowledged)));
      this.unacknowledged = 0;
    }
    const call = this.callOf(frame.stream);
    if (!call) return;
    const data = frame.flags & flag.padded ? stripPadding(payload) : payload;
    if (!call.headers || !call.take(data)) {
      this.abandon(call, errorCode.protocol);
      return;
    }
    if (isEnd && frame.flags & flag.endStream) {
      this.finish(call);
      return;
    }
    call.unacknowledged += payload.length;
    if (call.unacknowledged < streamWindow / 2) return;
    this.sender.push(toFrame(frameType.windowUpdate, 0, call.id, toUint32(call.unacknowledged)));
    call.unacknowledged = 0;
  }

  private onBlock(frame: FrameHead, part: Buffer): void {
    // Also for calls that have ended: the decoder's table depends on every block.
    const block = this.blocks.take(frame, part);
    const call = block && this.callOf(block.stream);
    if (call) this.onFields(call, block.fields, block.isLast);
  }

  private onFields(call: Call, fields: Fields, isLast: boolean): void {
    const isProvisional = !isLast && fields[0] === ':status' && fields[1]?.startsWith('1');
    const isWrong = call.headers ? !isLast : fields[0] !== ':status';
    if (isWrong) this.abandon(call, errorCode.protocol);
    else if (!isProvisional || call.headers) {
      if (call.headers) call.trailers = fields;
      else call.headers = fields;
      if (isLast) this.finish(call);
    }
  }

  private callOf(id: number): Call | undefined {
    if (id % 2 === 0 || id >= this.nextId) throw new ProtocolError(errorCode.protocol);
    return this.calls.get(id);
  }

  private onReset(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ProtocolError(errorCode.frameSize);
    const call = this.callOf(id);
    if (call) this.finish(call, payload.readUInt32BE());
  }

  private onSettings({ flags }: FrameHead, payload: Buffer): void {
    if (flags & flag.ack) return;
    if (payload.length % 6 !== 0) throw new ProtocolError(errorCode.frameSize);
    for (let at = 0; at < payload.length; at += 6) {
      const id = payload.readUInt16BE(at);
      const value = payload.readUInt32BE(at + 2);
      if (id === setting.maxConcurrentStreams) this.maxConcurrent = value;
      if (id === setting.initialWindowSize && !this.sender.setStreamWindow(value, this.calls.values()))
        throw new ProtocolError(errorCode.flowControl);
    }
    this.sender.push(toFrame(frameType.settings, flag.ack, 0, Buffer.alloc(0)));
    if (!this.isReady) {
      this.isReady = true;
      this.options.onReady();
    }
    this.beginWaiting();
  }

  private onPing({ flags }: FrameHead, payload: Buffer): void {
    if (payload.length !== 8) throw new ProtocolError(errorCode.frameSize);
    if (flags & flag.ack) this.pings.shift()?.();
    else this.sender.push(toFrame(frameType.ping, flag.ack, 0, payload));
  }

  private onGoaway(payload: Buffer): void {
    if (payload.length < 8) throw new ProtocolError(errorCode.frameSize);
    const lastId = payload.readUInt32BE() & 0x7fffffff;
    this.leave();
    for (const call of this.calls.values()) if (call.id > lastId) this.finish(call, errorCode.refusedStream);
  }

  private onWindowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ProtocolError(errorCode.frameSize);
    const more = payload.readUInt32BE() & 0x7fffffff;
    if (id === 0) {
      if (!this.sender.widen(more, this.calls.values())) throw new ProtocolError(errorCode.flowControl);
      return;
    }
    const call = this.callOf(id);
    if (call && !this.sender.widenCall(more, call)) this.abandon(call, errorCode.flowControl);
  }

  /** Ends a call from this side. */
  private abandon(call: Call, code: number): void {
    this.reset(call, code);
    this.finish(call, code);
  }

  private reset(call: Call, code: number): void {
    if (!this.isClosed) this.sender.push(toFrame(frameType.rstStream, 0, call.id, toUint32(code)));
  }

  private finish(call: Call, resetCode?: number): void {
    this.calls.delete(call);
    // The whole answer may be there before the whole request was sent.
    if (call.unsent && resetCode === undefined) this.reset(call, errorCode.none);
    call.end(resetCode);
    this.beginWaiting();
    if (this.isLeaving && this.calls.size === 0) this.socket.end();
  }

  private leave(): void {
    if (this.isLeaving) return;
    this.isLeaving = true;
    // First, so that a call that is repeated when it ends here does not use this session.
    this.options.onGoaway();
    for (const call of this.waiting.splice(0)) call.end(errorCode.refusedStream);
    if (this.calls.size === 0) this.socket.end();
  }

  /** The node violates the protocol; the connection cannot be used any more. */
  private fail(code: number): void {
    if (this.isClosed) return;
    this.socket.end(toFrame(frameType.goaway, 0, 0, Buffer.concat([toUint32(0), toUint32(code)])));
    this.socket.destroySoon();
    this.onClose();
  }

  private onClose(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    const ended = [...this.calls.values(), ...this.waiting.splice(0)];
    this.calls.clear();
    this.options.onClose();
    for (const call of ended) call.end(errorCode.cancel);
  }
}
