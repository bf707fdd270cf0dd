import { once } from 'node:events';
import { type AgentRun, openCallsOf } from '@palaver/agent';
import {
  AppError,
  type Approval,
  agentLimits,
  type ErrorCode,
  errorStatus,
  type Message,
  type SseEventData,
  type ToolCall,
} from '@palaver/contract';
import { openEventStream } from '@palaver/service-kit/internal';
import type { FastifyReply } from 'fastify';
import { findPause } from './define-door.ts';

export type TextPart = { kind: 'text' | 'reasoning'; part: number };

type CallEvent = SseEventData['tool_call'];

export interface Translation {
  start?(part: TextPart): string[];
  delta(part: TextPart, text: string): string[];
  end?(part: TextPart): string[];
  call?(call: CallEvent): string[];
  component?(component: SseEventData['render_component']): string[];
  /** The run waits for its user: the stream ends here. Without it, waits are not looked at. */
  pause?(pending: Approval[]): string[];
  error(error: SseEventData['error']): string[];
  endsAfterError?: boolean;
  /** `left`: the calls that the caller is to run. */
  done(end: SseEventData['done'], left: CallEvent[]): string[];
}

export async function* translateRun(run: AgentRun, to: Translation, signal?: AbortSignal): AsyncGenerator<string> {
  const running = new Map<string, CallEvent>();
  const asked = new Set<string>();
  let open: TextPart | undefined;
  function* endText(): Generator<string> {
    if (open) yield* to.end?.(open) ?? [];
    open = undefined;
  }
  function* addText(kind: TextPart['kind'], text: string, part = 0): Generator<string> {
    if (text === '') return;
    if (open?.part !== part || open.kind !== kind) {
      yield* endText();
      open = { kind, part };
      yield* to.start?.(open) ?? [];
    }
    yield* to.delta(open, text);
  }
  for await (const event of run.events(signal && { signal })) {
    const pause = to.pause && (await findPause(run, event));
    if (pause) {
      yield* endText();
      yield* to.pause?.(pause) ?? [];
      return;
    }
    const { name, data } = event;
    switch (name) {
      case 'approval_request':
        asked.add(data.toolCallId);
        break;
      case 'message':
        yield* addText('text', data.content, data.part);
        break;
      case 'reasoning':
        yield* addText('reasoning', data.reasoning, data.part);
        break;
      case 'tool_call':
        // Of the calls of sub-agents, clients know those that asked their user.
        if ((data.parentId !== undefined && !asked.has(data.eventId)) || data.progress) break;
        if (data.status === 'isRunning') running.set(data.eventId, data);
        else running.delete(data.eventId);
        if (!to.call) break;
        yield* endText();
        yield* to.call(data);
        break;
      case 'render_component':
        yield* to.component?.(data) ?? [];
        break;
      case 'error':
        yield* endText();
        yield* to.error(data);
        if (!to.endsAfterError) return;
        break;
      case 'done':
        yield* endText();
        yield* to.done(data, data.finish === 'tool_calls' ? [...running.values()] : []);
    }
  }
}

export function toResultText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}

/** Sends events as they come; resolves when the connection is done with. The reader's pace is the pace of `events`. */
export async function sendEventStream(
  reply: FastifyReply,
  events: AsyncIterable<string>,
  headers: Record<string, string> = {},
): Promise<FastifyReply> {
  const stream = openEventStream(reply, { headers, heartbeatMs: agentLimits.heartbeatMs });
  if (!stream) return reply;
  stream.flushHeaders();
  const closed = new AbortController();
  stream.once('close', () => closed.abort());
  try {
    for await (const event of events) {
      if (stream.destroyed) break;
      if (!stream.write(event)) await once(stream, 'drain', closed);
    }
    stream.end();
  } catch (error) {
    // The protocol's own error event has been sent where there is one; what is left is to end the connection.
    reply.request.log.debug({ err: error }, 'an event stream was cut off');
    stream.destroy();
  }
  return reply;
}

export type RunUsage = NonNullable<SseEventData['done']['usage']>;

export type Answer = { message: Message; calls: ToolCall[]; usage: RunUsage };

export const noUsage: RunUsage = { inputTokens: 0, outputTokens: 0 };

export async function readAnswer(run: AgentRun, signal: AbortSignal): Promise<Answer> {
  let usage = noUsage;
  for await (const event of run.events({ signal })) if (event.name === 'done') usage = event.data.usage ?? noUsage;
  signal.throwIfAborted();
  const message = await run.answer(signal);
  return { message, calls: openCallsOf(message), usage };
}

export async function collectAnswer(run: AgentRun, signal: AbortSignal): Promise<Answer> {
  const answer = await readAnswer(run, signal);
  if (answer.message.status === 'failed') throw toFailure(answer.message.error);
  return answer;
}

export function toFailure({ message, code }: { message: string; code: string } = failed): AppError {
  return new AppError(isErrorCode(code) ? code : 'INTERNAL_ERROR', message);
}

const isErrorCode = (code: string): code is ErrorCode => code in errorStatus;

const failed = { message: 'The turn failed.', code: 'INTERNAL_ERROR' };
