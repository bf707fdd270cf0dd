import { APICallError } from '@ai-sdk/provider';
import { AppError, type ErrorCode, type SseErrorKind, type SseEventData } from '@palaver/contract';

/** Why a run was cancelled. */
export class RunCancelled extends Error {
  override readonly name = 'RunCancelled';
  readonly by: CancelledBy;

  constructor(by: CancelledBy) {
    super(`the run was cancelled by ${by}`);
    this.by = by;
  }
}

/** `handover`: another instance is to continue the run. `new-owner`: another instance already does. */
export type CancelledBy = 'user' | 'shutdown' | 'timeout' | 'handover' | 'new-owner';

export function isAbortedByUser({ reason }: AbortSignal): boolean {
  return reason instanceof RunCancelled && reason.by === 'user';
}

/** A provider's failure or silence, a limit that was passed: what went wrong in a turn, in words for its user. */
export class TurnError extends AppError {
  readonly kind: SseErrorKind;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options: { kind: SseErrorKind; retryable: boolean; cause?: unknown }) {
    super(code, message, { cause: options.cause });
    this.kind = options.kind;
    this.retryable = options.retryable;
  }
}

/** The `error` event for whatever stopped a turn: known errors in words, the rest only in the log. */
export function toStreamError(error: unknown): SseEventData['error'] {
  const { message, code, kind, retryable } = toTurnError(error);
  return { error: message, code, kind, retryable, timestamp: new Date().toISOString() };
}

function toTurnError(error: unknown): TurnError {
  if (error instanceof TurnError) return error;
  if (error instanceof AppError)
    return new TurnError(error.code, error.message, { kind: 'internal', retryable: false });
  if (error instanceof RunCancelled) {
    return error.by === 'timeout'
      ? new TurnError('TURN_LIMIT_EXCEEDED', 'The turn took too long and was stopped.', {
          kind: 'timeout',
          retryable: true,
        })
      : new TurnError('UNAVAILABLE', 'The service is restarting. Please send it again.', {
          kind: 'internal',
          retryable: true,
        });
  }
  if (APICallError.isInstance(error)) return toProviderError(error);
  return new TurnError('INTERNAL_ERROR', 'Something went wrong on our side. Please try again later.', {
    kind: 'internal',
    retryable: true,
    cause: error,
  });
}

function toProviderError(error: APICallError): TurnError {
  const { statusCode = 0, isRetryable: retryable } = error;
  if (statusCode === 429) {
    return new TurnError('RATE_LIMITED', 'The language model is busy. Please try again in a moment.', {
      kind: 'rate_limit',
      retryable: true,
      cause: error,
    });
  }
  if (isContextTooLong(error)) {
    return new TurnError(
      'MODEL_FAILED',
      'The conversation is too long for the language model. Send less, or start a new session.',
      { kind: 'limit', retryable: false, cause: error },
    );
  }
  return new TurnError('MODEL_FAILED', `The language model ${describe(statusCode)}.`, {
    kind: 'model',
    // After a good status only the connection can have failed.
    retryable: retryable || statusCode < 400,
    cause: error,
  });
}

function describe(statusCode: number): string {
  if (statusCode === 0) return 'did not answer';
  if (statusCode < 400) return 'broke off in the middle of its answer';
  return statusCode < 500 ? `refused the request (${statusCode})` : `failed (${statusCode})`;
}

/** Providers have no common code for it; these words are in the answers of OpenAI, Anthropic, Google, vLLM, llama.cpp and Ollama. */
function isContextTooLong({ statusCode, message, responseBody = '' }: APICallError): boolean {
  if (statusCode !== 400 && statusCode !== 413) return false;
  const said = `${message} ${responseBody.slice(0, 10_000)}`;
  return /context[_ ](length|window|size)|prompt is too long|input token count .{0,40}exceeds|maximum context/i.test(
    said,
  );
}
