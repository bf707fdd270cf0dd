import { APICallError } from '@ai-sdk/provider';
import {
  AppError,
  type Approval,
  type EndedRunStatus,
  type ErrorCode,
  type Message,
  type RunStatus,
  type SseErrorKind,
  type SseEvent,
  type SseEventData,
  type SseEventName,
} from '@palaver/contract';
import { parseJson } from '@palaver/contract/internal';
import { z } from 'zod';
import { createMessageBuilder, stoppedMessage } from '../store/message.ts';
import type { RunNames } from '../store/runs.ts';
import { createFrameLog, parseFrame, splitFrames, toFrame } from './frames.ts';
import { toUsageField, type Usage, type UsageByModel } from './input.ts';
import { hasEnded, nextStatus, type TransitionName } from './transitions.ts';

export type RunIds = RunNames & { userDid: string };

export interface RunOptions {
  onEvent(event: SseEvent): void;
  /** The frames of an earlier owner, which this run continues. */
  earlier?: string;
  now?: number;
}

export type Run = ReturnType<typeof createRun>;

export function createRun(ids: RunIds, { onEvent, earlier = '', now = Date.now() }: RunOptions) {
  const frames = createFrameLog();
  const controller = new AbortController();
  const signal: AbortSignal = controller.signal;
  const answered = Promise.withResolvers<Message>();
  const { messageId: id, requestId } = ids;
  const builder = createMessageBuilder({ id, requestId, createdAt: new Date(now).toISOString() });
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };
  const used = new Map<string, Usage>();
  let status: RunStatus = 'queued';
  for (const frame of splitFrames(earlier)) {
    frames.appendText(frame);
    builder.add(parseFrame(frame));
  }
  // Nobody may be waiting for the answer of a run that moves to another instance.
  answered.promise.catch(() => {});

  const toDoneData = ({ status: ended, finish }: Message): SseEventData['done'] => ({
    runId: ids.runId,
    messageId: ids.messageId,
    status: ended,
    ...(finish && { finish }),
    ...toUsageField(usage),
  });

  function emit<Name extends SseEventName>(name: Name, data: SseEventData[Name]): void {
    // Work that has not noticed its cancellation may still emit events; they are dropped.
    if (hasEnded(status)) return;
    const part = builder.add({ name, data } as SseEvent);
    const sent = part === undefined ? data : { ...data, part };
    frames.append(name, sent);
    onEvent({ name, data: sent } as SseEvent);
  }

  /** Reports that the calls still under way, and approvals without an answer, were stopped with the run. */
  function stopCalls(): void {
    const { runId, sessionId } = ids;
    for (const approval of builder.approvals().filter(({ status: answer }: Approval) => answer === 'pending')) {
      const asked = { runId, sessionId, requestId, ...approval };
      emit('approval_request', { ...asked, status: 'refused', reason: stoppedMessage });
    }
    for (const { name, data } of builder.openCalls()) emit(name, { ...data, status: 'error', error: stoppedMessage });
  }

  function move(name: TransitionName): void {
    status = nextStatus(name, status) ?? status;
  }

  return {
    ...ids,
    frames,
    usage,
    signal,
    answer: answered.promise,
    get status() {
      return status;
    },
    emit,
    usageByModel: (): UsageByModel => Object.fromEntries(used),
    addUsage(more: UsageByModel): void {
      for (const [model, { inputTokens, outputTokens }] of Object.entries(more)) {
        const ofModel = used.get(model) ?? { inputTokens: 0, outputTokens: 0 };
        for (const sum of [usage, ofModel]) {
          sum.inputTokens += inputTokens;
          sum.outputTokens += outputTokens;
        }
        used.set(model, ofModel);
      }
    },
    move,
    /** Cancels the work; what ends the run says with which status. */
    cancel: (reason: unknown): void => controller.abort(reason),
    approvals: builder.approvals,
    stopCalls,
    fail(cause: unknown): void {
      stopCalls();
      emit('error', toStreamError(cause));
      move('fail');
    },
    setFinish: builder.setFinish,
    draft: builder.toMessage,
    toDone: (ended: EndedRunStatus, number = frames.length + 1): string =>
      toFrame(number, 'done', toDoneData(builder.toMessage(ended))),
    /** Sends `done`, the last frame. The answer's status is the run's: an abort may have been confirmed at the last moment. */
    finish(answer: Message, error?: SseEventData['error']): void {
      status = answer.status;
      if (error) frames.append('error', error);
      frames.append('done', toDoneData(answer));
      frames.end();
      answered.resolve(answer);
    },
    /** Ends the streams here without `done`: the run continues on another instance. */
    leave(reason: Error): void {
      frames.end();
      answered.reject(reason);
    },
  };
}

export class RunCancelled extends Error {
  override readonly name = 'RunCancelled';
  readonly by: CancelledBy;

  constructor(by: CancelledBy) {
    super(`the run was cancelled by ${by}`);
    this.by = by;
  }
}

/** `handover`: another instance is to continue the run. `new-owner`: another instance already does. */
type CancelledBy = 'user' | 'shutdown' | 'timeout' | 'handover' | 'new-owner';

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
  const fault = (code: ErrorCode, message: string, kind: SseErrorKind, retryable: boolean) =>
    new TurnError(code, message, { kind, retryable, cause: error });
  if (error instanceof TurnError) return error;
  if (error instanceof AppError) return fault(error.code, error.message, 'internal', false);
  if (error instanceof RunCancelled)
    return error.by === 'timeout'
      ? fault('TURN_LIMIT_EXCEEDED', 'The turn took too long and was stopped.', 'timeout', true)
      : fault('UNAVAILABLE', 'The service is restarting. Please send it again.', 'internal', true);
  if (!APICallError.isInstance(error))
    return fault('INTERNAL_ERROR', 'Something went wrong on our side. Please try again later.', 'internal', true);
  const { statusCode = 0, isRetryable } = error;
  if (statusCode === 429)
    return fault('RATE_LIMITED', 'The language model is busy. Please try again in a moment.', 'rate_limit', true);
  if (isContextTooLong(error)) return fault('MODEL_FAILED', contextTooLong, 'limit', false);
  // After a good status only the connection can have failed.
  return fault('MODEL_FAILED', `The language model ${describe(statusCode)}.`, 'model', isRetryable || statusCode < 400);
}

const contextTooLong = 'The conversation is too long for the language model. Send less, or start a new session.';

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

const word = z
  .union([z.string().regex(/^[\w.-]{1,100}$/), z.number()])
  .optional()
  .catch(undefined);
const refusalSchema = z.object({
  error: z.object({ message: z.string().optional().catch(undefined), type: word, code: word, status: word }),
});
/** With these statuses a provider may quote what users have said. */
const quoting = [400, 413, 422];

/** Eight characters or more with a digit or a star, or 24 of any kind. */
const keyLike = /(?=[\w-]*[\d*])[\w*-]{8,}|[\w-]{24,}/g;

/** Why a provider refused a call, in its own words where they cannot be the user's; without keys. */
export function toProviderFault(error: unknown): Record<string, unknown> | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  const { statusCode = 0, responseBody = '' } = error;
  const { message, ...codes } = refusalSchema.safeParse(parseJson(responseBody)).data?.error ?? {};
  const said = quoting.includes(statusCode) ? undefined : message && withoutKeys(message);
  return { statusCode, ...codes, ...(said !== undefined && { message: said }) };
}

const withoutKeys = (said: string) => said.slice(0, 300).replace(keyLike, '****');

/** On an author's own machine the reply says why the provider refused, too. */
export function explainFault(error: unknown): unknown {
  if (!APICallError.isInstance(error)) return error;
  const { code, message, kind, retryable } = toTurnError(error);
  const said = refusalSchema.safeParse(parseJson(error.responseBody ?? '')).data?.error.message ?? error.message;
  return new TurnError(code, `${message} It said: ${withoutKeys(said)}`, { kind, retryable, cause: error });
}

/** Rejects with the signal's reason once it fires. It may fire before anybody waits for the promise. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // Otherwise a rejection that nobody waits for yet would end the process.
  promise.catch(() => {});
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}
