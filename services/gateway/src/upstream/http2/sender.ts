// What goes up: frames of all calls on one socket, within the windows that the node gives.
import type { Socket } from 'node:net';
import type { Call } from './call.ts';
import { flag, frameType, headSize, maxPayload, toFrame, writeHead } from './frames.ts';

export const defaultWindow = 65_535;
const maxWindow = 2 ** 31 - 1;
/** A node that reads nothing any more while it keeps asking for replies. */
const maxUnsent = 64 * 1024 * 1024;

export class Sender {
  private readonly socket: Socket;
  private out: Buffer[] = [];
  private isFlushing = false;
  /** Bytes that may be sent on the connection, and on each new stream. */
  private window = defaultWindow;
  private streamWindow = defaultWindow;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** What is pushed within one round of the event loop leaves in one piece. */
  push(bytes: Buffer): void {
    this.out.push(bytes);
    if (this.isFlushing) return;
    this.isFlushing = true;
    setImmediate(() => {
      this.isFlushing = false;
      const { out } = this;
      this.out = [];
      if (this.socket.destroyed) return;
      this.socket.write(out.length === 1 && out[0] ? out[0] : Buffer.concat(out));
      if (this.socket.writableLength > maxUnsent) this.socket.destroy();
    });
  }

  begin(call: Call): void {
    const { id, block, unsent: body = Buffer.alloc(0) } = call;
    call.sendWindow = this.streamWindow;
    const fits = body.length <= Math.min(call.sendWindow, this.window, maxPayload) && block.length <= maxPayload;
    if (!fits) {
      for (const frame of toHeaderFrames(id, block)) this.push(frame);
      this.sendMore(call);
      return;
    }
    const out = Buffer.allocUnsafe(2 * headSize + block.length + body.length);
    writeHead(out, 0, { length: block.length, type: frameType.headers, flags: flag.endHeaders, stream: id });
    out.set(block, headSize);
    const at = headSize + block.length;
    writeHead(out, at, { length: body.length, type: frameType.data, flags: flag.endStream, stream: id });
    out.set(body, at + headSize);
    call.unsent = undefined;
    call.sendWindow -= body.length;
    this.window -= body.length;
    this.push(out);
  }

  /** As much of a call's body as the windows let through. */
  sendMore(call: Call): void {
    while (call.unsent) {
      const size = Math.min(call.unsent.length, call.sendWindow, this.window, maxPayload);
      if (size <= 0 && call.unsent.length > 0) return;
      const isLast = size === call.unsent.length;
      this.push(toFrame(frameType.data, isLast ? flag.endStream : 0, call.id, call.unsent.subarray(0, size)));
      call.sendWindow -= size;
      this.window -= size;
      call.unsent = isLast ? undefined : call.unsent.subarray(size);
    }
  }

  /** More room on the connection; false when it is more than there can be. */
  widen(more: number, calls: Iterable<Call>): boolean {
    this.window += more;
    if (more === 0 || this.window > maxWindow) return false;
    for (const call of calls) this.sendMore(call);
    return true;
  }

  /** More room for one call; false when it is more than there can be. */
  widenCall(more: number, call: Call): boolean {
    call.sendWindow += more;
    if (more === 0 || call.sendWindow > maxWindow) return false;
    this.sendMore(call);
    return true;
  }

  /** Another room for each call, those under way included; false when it is more than there can be. */
  setStreamWindow(size: number, calls: Iterable<Call>): boolean {
    if (size > maxWindow) return false;
    for (const call of calls) {
      call.sendWindow += size - this.streamWindow;
      this.sendMore(call);
    }
    this.streamWindow = size;
    return true;
  }
}

/** A block that is too large for one frame continues in others. */
function toHeaderFrames(id: number, block: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at === 0 || at < block.length; at += maxPayload) {
    const part = block.subarray(at, at + maxPayload);
    const flags = at + maxPayload >= block.length ? flag.endHeaders : 0;
    frames.push(toFrame(at === 0 ? frameType.headers : frameType.continuation, flags, id, part));
  }
  return frames;
}
