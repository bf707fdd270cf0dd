import type { ErrorBody } from './error-body.ts';

/**
 * Every error code of the three services with its HTTP status. The query gateway's gRPC statuses are in `http.ts`.
 *
 * @example
 * ```ts
 * import { errorStatus } from '@palaver/contract';
 *
 * export const isServerFault = (code: keyof typeof errorStatus) => errorStatus[code] >= 500;
 * ```
 */
export const errorStatus = {
  BAD_REQUEST: 400,
  VALIDATION_FAILED: 400,
  MODEL_UNKNOWN: 400,
  DELEGATION_INVALID: 400,
  DELEGATION_WRONG_AUDIENCE: 400,
  DELEGATION_EXPIRED: 400,
  DELEGATION_REVOKED: 400,
  UNAUTHORIZED: 401,
  UCAN_MISSING: 401,
  UCAN_MALFORMED: 401,
  UCAN_EXPIRED: 401,
  UCAN_NOT_YET_VALID: 401,
  UCAN_NO_EXPIRY: 401,
  UCAN_WRONG_AUDIENCE: 401,
  UCAN_BAD_SIGNATURE: 401,
  UCAN_BAD_PROOF: 401,
  UCAN_NOT_ALLOWED: 401,
  UCAN_TTL_TOO_LONG: 401,
  PAYMENT_REQUIRED: 402,
  FORBIDDEN: 403,
  DELEGATION_NOT_YOURS: 403,
  NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  RUN_NOT_FOUND: 404,
  APPROVAL_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  SESSION_BUSY: 409,
  APPROVAL_ANSWERED: 409,
  DELEGATION_REQUIRED: 409,
  PAYLOAD_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  ATTACHMENT_FAILED: 422,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  LIMIT_REACHED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  RESPONSE_TOO_LARGE: 502,
  MODEL_FAILED: 502,
  TURN_LIMIT_EXCEEDED: 502,
  UNAVAILABLE: 503,
  MODEL_TIMEOUT: 504,
} as const satisfies Record<string, number>;

/** Why a tool failed. The model and the events of the call carry it; it is never an HTTP error, and the turn continues. */
export const toolErrorCodes = [
  'REAUTHORIZATION_REQUIRED',
  'AUTHORIZATION_REQUIRED',
  'APPROVAL_REFUSED',
  'APPROVAL_EXPIRED',
  'BROWSER_NOT_CONNECTED',
  'TOOL_TIMEOUT',
  'TOOL_RESULT_TOO_LARGE',
  'TOOL_UNAVAILABLE',
  'TOOL_FAILED',
] as const;

/** Why a tool failed, as the model reads it. */
export type ToolErrorCode = (typeof toolErrorCodes)[number];

/** The code of an error, which decides its HTTP status. */
export type ErrorCode = keyof typeof errorStatus;

const reasonPhrases: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Payload Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

export function toReasonPhrase(status: number): string {
  return reasonPhrases[status] ?? 'Error';
}

export function invalid(path: string, message: string): AppError {
  return new AppError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } });
}

/**
 * An error with a public code. `message` and `details` are shown to clients; `cause` only to the log.
 *
 * @example
 * ```ts
 * import { AppError } from '@palaver/agent';
 *
 * export const refusal = new AppError('PAYMENT_REQUIRED', 'Pay first.', { details: { claimIds: ['c1'] } });
 * ```
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }

  get statusCode(): number {
    return errorStatus[this.code];
  }
}

export function toErrorBody(error: AppError): ErrorBody {
  const { statusCode, message, code } = error;
  return { ...error.details, statusCode, error: toReasonPhrase(statusCode), message, code };
}
