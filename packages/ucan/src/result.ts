import type { ErrorCode } from '@palaver/contract';

/** The result of an operation; exactly one of the two is set. */
export type Result<T, E> = { readonly ok: T; readonly error?: never } | { readonly ok?: never; readonly error: E };

export type Awaitable<T> = T | Promise<T>;

export type Bytes = Uint8Array<ArrayBuffer>;

/** Why a token is refused: the `code` of a 401 body. */
export type UcanErrorCode = Exclude<Extract<ErrorCode, `UCAN_${string}`>, 'UCAN_MISSING'>;

/** Why a token is refused. */
export interface UcanError {
  readonly code: UcanErrorCode;
  readonly message: string;
  /** Set when the token was valid once: it, or one of its proofs, has been revoked. */
  readonly revoked?: true;
  /** Set when its issuer was not looked up because too many look-ups are under way; it may be good. */
  readonly limited?: true;
}

// Thrown and caught inside the parser only, where the codecs throw too.
export class Refusal extends Error {
  readonly code: UcanErrorCode;

  constructor(code: UcanErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export function malformed(message: string): never {
  throw new Refusal('UCAN_MALFORMED', message);
}

export function toUcanError(error: unknown): UcanError {
  // A codec's message may quote the token, which is a credential: it stays out of the answer.
  if (error instanceof Refusal) return { code: error.code, message: error.message };
  return { code: 'UCAN_MALFORMED', message: 'it cannot be decoded' };
}
