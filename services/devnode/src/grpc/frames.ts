import { type Refusal, refuse } from '../refusal.ts';

/** A message on the wire: a byte that says whether it is compressed, four of length, the message. */
const headBytes = 5;

export function toFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length);
  frame.writeUInt8(0, 0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headBytes);
  return frame;
}

export interface FrameReader {
  /** The messages that are complete with this chunk, however the chunks are cut. */
  push(chunk: Buffer): { ok: true; messages: Buffer[] } | Refusal;
  /** Whether a message has begun that is not complete. */
  isInside(): boolean;
}

export function createFrameReader(maxBytes: number): FrameReader {
  let pending: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const messages: Buffer[] = [];
      while (pending.length >= headBytes) {
        if (pending.readUInt8(0) !== 0) return refuse('INTERNAL', 'compressed message without grpc-encoding');
        const length = pending.readUInt32BE(1);
        if (length > maxBytes) {
          return refuse('RESOURCE_EXHAUSTED', `received message larger than max (${length} vs. ${maxBytes})`);
        }
        if (pending.length < headBytes + length) break;
        messages.push(pending.subarray(headBytes, headBytes + length));
        pending = pending.subarray(headBytes + length);
      }
      return { ok: true, messages };
    },
    isInside: () => pending.length > 0,
  };
}
