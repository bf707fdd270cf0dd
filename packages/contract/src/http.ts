export const corsRequestHeaders = [
  'Content-Type',
  'Authorization',
  'x-ucan-delegation',
  'x-matrix-access-token',
  'x-matrix-homeserver',
  'x-did',
  'x-request-id',
  'x-auth-type',
  'x-timezone',
] as const;

export const corsMethods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const;

export const heightHeader = 'x-cosmos-block-height';
/** The lowest height that an answer about the latest block may have: what a client has seen on another connection. */
export const minHeightHeader = 'x-min-block-height';

/** The last one keeps nginx from buffering the frames. */
export const eventStreamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const;

/** The index of a row is its code. */
export const grpcStatuses = [
  { code: 0, name: 'OK', httpStatus: 200 },
  { code: 1, name: 'CANCELLED', httpStatus: 408 },
  { code: 2, name: 'UNKNOWN', httpStatus: 500 },
  { code: 3, name: 'INVALID_ARGUMENT', httpStatus: 400 },
  { code: 4, name: 'DEADLINE_EXCEEDED', httpStatus: 504 },
  { code: 5, name: 'NOT_FOUND', httpStatus: 404 },
  { code: 6, name: 'ALREADY_EXISTS', httpStatus: 409 },
  { code: 7, name: 'PERMISSION_DENIED', httpStatus: 403 },
  { code: 8, name: 'RESOURCE_EXHAUSTED', httpStatus: 429 },
  { code: 9, name: 'FAILED_PRECONDITION', httpStatus: 400 },
  { code: 10, name: 'ABORTED', httpStatus: 409 },
  { code: 11, name: 'OUT_OF_RANGE', httpStatus: 400 },
  { code: 12, name: 'UNIMPLEMENTED', httpStatus: 501 },
  { code: 13, name: 'INTERNAL', httpStatus: 500 },
  { code: 14, name: 'UNAVAILABLE', httpStatus: 503 },
  { code: 15, name: 'DATA_LOSS', httpStatus: 500 },
  { code: 16, name: 'UNAUTHENTICATED', httpStatus: 401 },
] as const;

type GrpcStatus = (typeof grpcStatuses)[number];
export type GrpcCode = GrpcStatus['code'];
export type GrpcStatusName = GrpcStatus['name'];

/** The row of a gRPC code; a number outside the standard is UNKNOWN, as gRPC libraries treat it. */
export function toGrpcStatus(code: number): GrpcStatus {
  return grpcStatuses[code] ?? grpcStatuses[2];
}

export function toGrpcCode(name: GrpcStatusName): GrpcCode {
  return grpcStatuses.findIndex((status) => status.name === name) as GrpcCode;
}

const codeByRefusal: Record<number, GrpcCode> = {
  401: 16,
  403: 7,
  404: 5,
  405: 12,
  408: 1,
  409: 10,
  429: 8,
  501: 12,
  502: 8,
  503: 14,
  504: 4,
};

export function toRefusalGrpcCode(httpStatus: number): GrpcCode {
  return codeByRefusal[httpStatus] ?? (httpStatus < 500 ? 3 : 13);
}
