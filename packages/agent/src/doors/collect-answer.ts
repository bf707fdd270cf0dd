import {
  AppError,
  type ErrorCode,
  errorStatus,
  type Message,
  type SseEventData,
  type ToolCall,
} from '@palaver/contract';
import type { AgentRun } from '../define/agent-run.ts';
import { openCallsOf } from '../runs/input.ts';

export type RunUsage = NonNullable<SseEventData['done']['usage']>;

export interface Answer {
  message: Message;
  /** The calls that are left to the caller. */
  calls: ToolCall[];
  usage: RunUsage;
}

export const noUsage: RunUsage = { inputTokens: 0, outputTokens: 0 };

/** The answer of a run once it has ended; throws why it failed. */
export async function collectAnswer(run: AgentRun, signal: AbortSignal): Promise<Answer> {
  let usage = noUsage;
  for await (const event of run.events({ signal })) if (event.name === 'done') usage = event.data.usage ?? noUsage;
  signal.throwIfAborted();
  const message = await run.answer(signal);
  if (message.status === 'failed') throw toFailure(message.error);
  return { message, calls: openCallsOf(message), usage };
}

/** Why a run failed, as the error of a reply. */
export function toFailure(error: { message: string; code: string } | undefined): AppError {
  const code = error && isErrorCode(error.code) ? error.code : 'INTERNAL_ERROR';
  return new AppError(code, error?.message ?? 'The turn failed.');
}

function isErrorCode(code: string): code is ErrorCode {
  return code in errorStatus;
}

type CallEvent = SseEventData['tool_call'];

/** Follows the calls of a run: those that have not ended when the run does are left to its caller. */
export function createCallTracker() {
  const open = new Map<string, CallEvent>();
  return {
    add(call: CallEvent): void {
      if (call.parentId !== undefined) return;
      if (call.status === 'isRunning') open.set(call.eventId, call);
      else open.delete(call.eventId);
    },
    /** At the end of a run. */
    leftToCaller: ({ finish }: SseEventData['done']): CallEvent[] =>
      finish === 'tool_calls' ? [...open.values()] : [],
  };
}
