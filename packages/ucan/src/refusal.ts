import type { UcanError, UcanErrorCode } from './result.ts';

// Thrown and caught inside the parser only, where the codecs throw too; everything outside works with results.
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
