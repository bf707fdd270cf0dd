import type { Approval, SseEventData } from '@palaver/contract';
import { toEvent } from '@palaver/service-kit/internal';
import type { AgentRun } from '../../define/agent-run.ts';
import { findPause } from '../door-approvals.ts';
import { createTextParts } from '../text-parts.ts';

export interface AguiRun {
  threadId: string;
  runId: string;
  state?: unknown;
  /** Calls that the client knows from the run that was interrupted. */
  known?: Set<string>;
}

/** A run as the events of AG-UI. Calls of tools without a result are the client's. */
export async function* toAguiEvents(
  run: AgentRun,
  { threadId, runId, state, known = new Set() }: AguiRun,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const event = (type: string, data: object) => toEvent({ type, timestamp: Date.now(), ...data });
  const texts = createTextEvents(run.messageId, event);
  yield event('RUN_STARTED', { threadId, runId });
  if (state !== undefined && state !== null) yield event('STATE_SNAPSHOT', { snapshot: state });
  for await (const runEvent of run.events({ signal })) {
    const pause = await findPause(run, runEvent);
    if (pause) {
      yield* texts.end();
      for (const { toolCallId, toolName, args } of pause)
        yield* toCallEvents({ eventId: toolCallId, toolName, args, status: 'isRunning' }, run.messageId, event);
      const outcome = { type: 'interrupt', interrupts: pause.map(toInterrupt) };
      return yield event('RUN_FINISHED', { threadId, runId, outcome });
    }
    const { name, data } = runEvent;
    switch (name) {
      case 'message':
        yield* texts.add('text', data.content, data.part);
        break;
      case 'reasoning':
        yield* texts.add('reasoning', data.reasoning, data.part);
        break;
      case 'tool_call':
        if (data.parentId !== undefined || data.progress) break;
        if (data.status === 'isRunning' && known.has(data.eventId)) break;
        yield* texts.end();
        yield* toCallEvents(data, run.messageId, event);
        break;
      case 'render_component':
        yield event('CUSTOM', { name: 'render_component', value: { name: data.componentName, args: data.args } });
        break;
      case 'error':
        yield* texts.end();
        // Nothing may follow it.
        yield event('RUN_ERROR', { message: data.error, code: data.code });
        return;
      case 'done':
        yield* texts.end();
        yield event('RUN_FINISHED', {
          threadId,
          runId,
          ...(data.status === 'aborted' && { outcome: { type: 'cancelled' } }),
        });
    }
  }
}

const answerSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
};

function toInterrupt({ approvalId, toolCallId, toolName, args, expiresAt }: Approval) {
  const message = `May ${toolName} run with ${JSON.stringify(args)}?`;
  return { id: approvalId, reason: 'tool_call', message, toolCallId, responseSchema: answerSchema, expiresAt };
}

type ToEvent = (type: string, data: object) => string;
type Call = Pick<SseEventData['tool_call'], 'eventId' | 'toolName' | 'args' | 'status' | 'output' | 'error'>;

function* toCallEvents(call: Call, parentMessageId: string, event: ToEvent): Generator<string> {
  const { eventId: toolCallId, toolName: toolCallName, args, status } = call;
  if (status === 'isRunning') {
    yield event('TOOL_CALL_START', { toolCallId, toolCallName, parentMessageId });
    yield event('TOOL_CALL_ARGS', { toolCallId, delta: JSON.stringify(args) });
    yield event('TOOL_CALL_END', { toolCallId });
    return;
  }
  const content = call.error ?? (typeof call.output === 'string' ? call.output : JSON.stringify(call.output ?? null));
  yield event('TOOL_CALL_RESULT', { messageId: `${toolCallId}-result`, toolCallId, content, role: 'tool' });
}

/** Texts and reasoning as messages, one for each part. */
function createTextEvents(messageId: string, event: ToEvent) {
  const of = (part: number) => ({ messageId: `${messageId}-${part}` });
  return createTextParts({
    start: ({ kind, part }) =>
      kind === 'text'
        ? [event('TEXT_MESSAGE_START', { ...of(part), role: 'assistant' })]
        : [event('REASONING_START', of(part)), event('REASONING_MESSAGE_START', { ...of(part), role: 'reasoning' })],
    delta: ({ kind, part }, delta) =>
      event(kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', { ...of(part), delta }),
    end: ({ kind, part }) =>
      kind === 'text'
        ? [event('TEXT_MESSAGE_END', of(part))]
        : [event('REASONING_MESSAGE_END', of(part)), event('REASONING_END', of(part))],
  });
}
