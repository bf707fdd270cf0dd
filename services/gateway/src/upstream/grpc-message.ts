// gRPC's framing of messages (a flag and a length before each), and what its header fields hold.

export const maxMessageBytes = 16 * 1024 * 1024;

export type MessageFault = 'compressed' | 'too large' | 'truncated' | 'several' | 'missing';

/** A message as it goes up: uncompressed. */
export function frameMessage(bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(5 + bytes.length);
  frame[0] = 0;
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, 5);
  return frame;
}

/** The fault of a frame, from its first five bytes. */
export function checkFrameHead(head: Buffer): MessageFault | undefined {
  if (head[0] !== 0) return 'compressed';
  return head.readUInt32BE(1) > maxMessageBytes ? 'too large' : undefined;
}

/** The one message of a unary answer. */
export function unframeMessage(body: Buffer): { message: Buffer } | { fault: MessageFault } {
  if (body.length === 0) return { fault: 'missing' };
  if (body.length < 5) return { fault: 'truncated' };
  const fault = checkFrameHead(body);
  if (fault) return { fault };
  const end = 5 + body.readUInt32BE(1);
  if (body.length < end) return { fault: 'truncated' };
  return body.length > end ? { fault: 'several' } : { message: body.subarray(5, end) };
}

/** `grpc-message` is percent-encoded UTF-8; what is not is shown as it came. */
export function decodeGrpcMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `grpc-timeout`: at most eight digits, so long waits go in seconds. */
export function toGrpcTimeout(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole < 100_000_000 ? `${whole}m` : `${Math.ceil(whole / 1000)}S`;
}

const timeoutUnits: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000001 };

/** Milliseconds of a client's `Grpc-Timeout`; undefined if it is not valid. */
export function parseGrpcTimeout(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  return digits === undefined || unit === undefined ? undefined : Number(digits) * (timeoutUnits[unit] ?? 1);
}
