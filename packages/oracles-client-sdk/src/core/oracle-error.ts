import type { StreamEventData } from './wire.ts';

export interface OracleErrorOptions {
  status?: number;
  code: string;
  details?: Record<string, unknown>;
  retryable?: boolean | undefined;
  retryAfterMs?: number | undefined;
  requestId?: string | undefined;
  cause?: unknown;
}

/** A refusal of the agent service or the query gateway, or a request that never arrived (`NETWORK_ERROR`, status 0). */
export class OracleError extends Error {
  override readonly name: string = 'OracleError';
  /** The HTTP status; 0 where there was no reply. */
  readonly status: number;
  readonly code: string;
  /** Everything the error body held. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryable: boolean;
  /** How long the service asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;
  /** The id under which the service has logged the request. */
  readonly requestId: string | undefined;

  constructor(message: string, options: OracleErrorOptions) {
    super(message, { cause: options.cause });
    const { status = 0, code, details = {}, retryAfterMs, requestId } = options;
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryable = options.retryable ?? (code === 'NETWORK_ERROR' || status === 429 || status >= 500);
    this.retryAfterMs = retryAfterMs;
    this.requestId = requestId;
  }
}

export async function toOracleError(response: Response): Promise<OracleError> {
  const { status, statusText, headers } = response;
  const details = asRecord(await response.json().catch(() => undefined)) ?? {};
  const message = typeof details.message === 'string' ? details.message : `The server answered ${status} ${statusText}`;
  // The query gateway's `code` is a number; its `reason` is the name.
  const code = [details.code, details.reason].find((value) => typeof value === 'string') ?? `HTTP_${status}`;
  return new OracleError(message, {
    status,
    code: String(code),
    details,
    retryAfterMs: readRetryAfter(headers.get('retry-after')),
    requestId: headers.get('x-request-id') ?? undefined,
  });
}

function readRetryAfter(text: string | null): number | undefined {
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

export function toStreamError({ error, code, ...details }: StreamEventData['error']): OracleError {
  return new OracleError(error, { code, details, retryable: details.retryable });
}

/** Whatever was thrown, as an `OracleError`: `CLIENT_ERROR` for what comes from the page or its wallet. */
export function toError(cause: unknown): OracleError {
  if (cause instanceof OracleError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new OracleError(message, { code: 'CLIENT_ERROR', cause });
}

/** The claims to be paid, as the error of a payment wall names them; undefined for any other error. */
export function toClaimIds(error: unknown): string[] | undefined {
  if (!(error instanceof OracleError)) return undefined;
  if (error.status !== 402 && error.code !== 'PAYMENT_REQUIRED') return undefined;
  const { claimIds, claims, outstandingClaims } = error.details;
  const ids = [claimIds, claims, outstandingClaims].find(Array.isArray) ?? [];
  return ids.filter((id: unknown) => typeof id === 'string');
}

export function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
