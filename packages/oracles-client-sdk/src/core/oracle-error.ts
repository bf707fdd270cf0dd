import type { StreamEventData } from './wire.ts';

/** A refusal of the agent service or the query gateway, or a request that never arrived (`NETWORK_ERROR`, status 0). */
export class OracleError extends Error {
  override readonly name: string = 'OracleError';
  /** The HTTP status; 0 where there was no reply. */
  readonly status: number;
  /** `PAYMENT_REQUIRED`, `SESSION_NOT_FOUND`, `NETWORK_ERROR` and so on. */
  readonly code: string;
  /** Everything the error body held. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    options: { status?: number; code: string; details?: Record<string, unknown>; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.status = options.status ?? 0;
    this.code = options.code;
    this.details = options.details ?? {};
  }
}

/** The error of a reply that is not 2xx. */
export async function toOracleError(response: Response): Promise<OracleError> {
  const { status, statusText } = response;
  const details = asRecord(await response.json().catch(() => undefined)) ?? {};
  const message = typeof details.message === 'string' ? details.message : `The server answered ${status} ${statusText}`;
  // The query gateway's `code` is a number; its `reason` is the name.
  const code = [details.code, details.reason].find((value) => typeof value === 'string') ?? `HTTP_${status}`;
  return new OracleError(message, { status, code: String(code), details });
}

/** The error a stream tells of. */
export function toStreamError({ error, code, ...details }: StreamEventData['error']): OracleError {
  return new OracleError(error, { code, details });
}

export function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
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
