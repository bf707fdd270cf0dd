/** The gRPC status codes by name; the position is the number. */
export const grpcCodes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

export type GrpcCodeName = (typeof grpcCodes)[number];

export const grpcCode = Object.fromEntries(grpcCodes.map((name, number) => [name, number])) as Record<
  GrpcCodeName,
  number
>;

const httpStatuses: Partial<Record<GrpcCodeName, number>> = {
  OK: 200,
  CANCELLED: 408,
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  OUT_OF_RANGE: 400,
  DEADLINE_EXCEEDED: 504,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  ABORTED: 409,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  UNIMPLEMENTED: 501,
  UNAVAILABLE: 503,
  UNAUTHENTICATED: 401,
};

export function toCodeName(code: number): GrpcCodeName {
  return grpcCodes[code] ?? 'UNKNOWN';
}

export function toHttpStatus(code: number): number {
  return httpStatuses[toCodeName(code)] ?? 500;
}

/** What a reply that is HTTP but not gRPC means, by the table of the gRPC protocol (proxies answer so). */
export function codeOfHttpStatus(status: number): number {
  if (status === 400) return grpcCode.INTERNAL;
  if (status === 401) return grpcCode.UNAUTHENTICATED;
  if (status === 403) return grpcCode.PERMISSION_DENIED;
  if (status === 404) return grpcCode.UNIMPLEMENTED;
  if (status === 429 || (status >= 502 && status <= 504)) return grpcCode.UNAVAILABLE;
  return grpcCode.UNKNOWN;
}
