import type { Fields } from './hpack.ts';

/** What came back for a call. */
export interface Received {
  /** Undefined when the node sent none. */
  headers: Fields | undefined;
  trailers: Fields | undefined;
  body: Buffer;
  /** The error code of a stream that was reset; undefined for one that was completed. */
  resetCode: number | undefined;
}

export interface CallHandlers {
  /** Looks at the bytes of the body so far, at its beginning; true gives the call up. */
  refuses(start: Buffer): boolean;
  onEnd(received: Received): void;
}

/** One message up, one message down: a stream of HTTP/2. */
export class Call {
  /** 0 until the call is sent. */
  id = 0;
  headers: Fields | undefined;
  trailers: Fields | undefined;
  /** Bytes of the body so far. */
  size = 0;
  /** Bytes received since the node was last given more room. */
  unacknowledged = 0;
  sendWindow = 0;
  /** The header block and what the windows did not let through yet. */
  readonly block: Buffer;
  unsent: Buffer | undefined;
  private readonly chunks: Buffer[] = [];
  private readonly handlers: CallHandlers;

  constructor(block: Buffer, body: Buffer, handlers: CallHandlers) {
    this.block = block;
    this.unsent = body;
    this.handlers = handlers;
  }

  /** Takes a part of the body; false when the call is to be given up. */
  take(data: Buffer): boolean {
    const isStart = this.size < 5;
    if (data.length > 0) this.chunks.push(data);
    this.size += data.length;
    return !isStart || !this.handlers.refuses(this.chunks.length === 1 ? data : Buffer.concat(this.chunks));
  }

  end(resetCode: number | undefined): void {
    const { headers, trailers, chunks } = this;
    const [only] = chunks;
    const body = chunks.length === 1 && only ? only : Buffer.concat(chunks);
    this.handlers.onEnd({ headers, trailers, body, resetCode });
  }
}
