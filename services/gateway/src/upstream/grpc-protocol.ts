// The tables and header values of the gRPC protocol over HTTP/2.
import { constants } from 'node:http2';
import { type GrpcCode, toGrpcCode } from '@palaver/contract/internal';

/** What a reply that is HTTP but not gRPC means, by the table of the gRPC protocol (proxies answer so). */
export function codeOfHttpStatus(status: number): GrpcCode {
  if (status === 400) return toGrpcCode('INTERNAL');
  if (status === 401) return toGrpcCode('UNAUTHENTICATED');
  if (status === 403) return toGrpcCode('PERMISSION_DENIED');
  if (status === 404) return toGrpcCode('UNIMPLEMENTED');
  if (status === 429 || (status >= 502 && status <= 504)) return toGrpcCode('UNAVAILABLE');
  return toGrpcCode('UNKNOWN');
}

/** Whether the node did nothing for the call, so that another can be asked: refused, or cut off by something on the way. */
export function isRefused(lost: unknown): boolean {
  return lost === constants.NGHTTP2_REFUSED_STREAM || lost === constants.NGHTTP2_CANCEL;
}

/** What another reset of a call means, by the table of the gRPC protocol. */
export function codeOfReset(code: number): GrpcCode {
  return toGrpcCode(code === constants.NGHTTP2_INADEQUATE_SECURITY ? 'PERMISSION_DENIED' : 'INTERNAL');
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
