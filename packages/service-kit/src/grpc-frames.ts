// Compressed or not (1 byte), length (4), message: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

const headBytes = 5;

export function toGrpcFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headBytes);
  return frame;
}

export type GrpcFrameFault = { kind: 'compressed' } | { kind: 'too large'; length: number };

export class GrpcFrameReader {
  private readonly maxBytes: number;
  private chunks: Buffer[] = [];
  private size = 0;
  private need = headBytes;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Adds the messages that are complete with this chunk to `messages`; returns what is wrong with the stream. */
  push(chunk: Buffer, messages: Buffer[]): GrpcFrameFault | undefined {
    this.chunks.push(chunk);
    this.size += chunk.length;
    while (this.size >= this.need) {
      const [only] = this.chunks;
      const bytes = only && this.chunks.length === 1 ? only : Buffer.concat(this.chunks);
      if (bytes[0] !== 0) return { kind: 'compressed' };
      const length = bytes.readUInt32BE(1);
      if (length > this.maxBytes) return { kind: 'too large', length };
      const end = headBytes + length;
      if (this.size < end) {
        this.chunks = [bytes];
        this.need = end;
        return undefined;
      }
      messages.push(bytes.subarray(headBytes, end));
      this.size -= end;
      this.chunks = this.size > 0 ? [bytes.subarray(end)] : [];
      this.need = headBytes;
    }
    return undefined;
  }

  isInside(): boolean {
    return this.size > 0;
  }
}

/** `grpc-message` is percent-encoded UTF-8: only printable ASCII other than `%` stands for itself. */
export function encodeGrpcMessage(text: string): string {
  const encode = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return text.replace(/[^ -$&-~]+/gu, (part) => Array.from(Buffer.from(part), encode).join(''));
}

/** Text that is not encoded is shown as it came. */
export function decodeGrpcMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
