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
