import type { Approval, SseEventData } from '@palaver/contract';
import { toEvent } from '@palaver/service-kit/internal';
import type { AgentRun } from '../../define/agent-run.ts';
import { createCallTracker } from '../collect-answer.ts';
import { findPause } from '../door-approvals.ts';
import { createTextParts } from '../text-parts.ts';

export const uiStreamHeaders = { 'x-vercel-ai-ui-message-stream': 'v1' };

const finishReasons: Record<string, string> = {
  length: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
};

type ToolCall = SseEventData['tool_call'];

export interface UiStreamOptions {
  messageId: string;
  /** Names of the tools that the client has declared. */
  callers?: Set<string>;
  /** Approvals that the client has just answered: it knows their calls. */
  answered?: Approval[];
}

/** A run as the chunks of a UI message stream. */
export async function* toUiChunks(
  run: AgentRun,
  { messageId, callers = new Set(), answered = [] }: UiStreamOptions,
): AsyncGenerator<string> {
  const calls = createCallTracker();
  const texts = createTextParts({
    start: ({ kind, part }) => [toEvent({ type: `${kind}-start`, id: `${kind}-${part}` })],
    delta: ({ kind, part }, delta) => toEvent({ type: `${kind}-delta`, id: `${kind}-${part}`, delta }),
    end: ({ kind, part }) => [toEvent({ type: `${kind}-end`, id: `${kind}-${part}` })],
  });
  yield toEvent({ type: 'start', messageId });
  yield toEvent({ type: 'start-step' });
  for await (const event of run.events()) {
    const pause = await findPause(run, event);
    if (pause) {
      yield* texts.end();
      for (const approval of pause) yield* toApprovalChunks(approval);
      return yield* toLastChunks('tool-calls');
    }
    const { name, data } = event;
    switch (name) {
      case 'message':
        yield* texts.add('text', data.content, data.part);
        break;
      case 'reasoning':
        yield* texts.add('reasoning', data.reasoning, data.part);
        break;
      case 'tool_call':
        if (data.parentId !== undefined || data.progress) break;
        yield* texts.end();
        // A tool of the agent may have the name of one of the client's: which one it is shows when it ends.
        yield* toCallChunks(data, {
          mayBeCallers: callers.has(data.toolName),
          approval: answered.find(({ toolCallId }) => toolCallId === data.eventId),
        });
        calls.add(data);
        break;
      case 'render_component':
        yield toEvent({
          type: 'data-component',
          id: data.eventId,
          data: { name: data.componentName, args: data.args },
        });
        break;
      case 'error':
        yield* texts.end();
        yield toEvent({ type: 'error', errorText: data.error });
        break;
      case 'done':
        yield* texts.end();
        for (const { eventId: toolCallId, toolName, args: input } of calls.leftToCaller(data))
          yield toEvent({ type: 'tool-input-available', toolCallId, toolName, input });
        yield* toLastChunks(
          data.status === 'aborted'
            ? undefined
            : (finishReasons[data.finish ?? ''] ?? (data.status === 'failed' ? 'error' : 'stop')),
        );
    }
  }
}

/** Without a reason the answer was aborted. */
function* toLastChunks(finishReason?: string): Generator<string> {
  yield toEvent({ type: 'finish-step' });
  yield toEvent(finishReason === undefined ? { type: 'abort' } : { type: 'finish', finishReason });
  yield toEvent('[DONE]');
}

function* toApprovalChunks(request: Approval): Generator<string> {
  const { approvalId, toolCallId, toolName, args, expiresAt, capability, invocation } = request;
  yield toEvent({ type: 'tool-input-available', ...toCallHere(toolCallId), toolName, input: args });
  yield toEvent({
    type: 'tool-approval-request',
    approvalId,
    toolCallId,
    approvalDescriptor: { expiresAt, capability, invocation },
  });
}

/** `providerExecuted`: it ran here, so the client neither runs it nor sends the conversation again because of it. */
const toCallHere = (toolCallId: string) => ({ toolCallId, providerExecuted: true, dynamic: true });

function* toCallChunks(
  call: ToolCall,
  { mayBeCallers, approval }: { mayBeCallers: boolean; approval: Approval | undefined },
): Generator<string> {
  const { eventId: toolCallId, toolName, args: input, status } = call;
  const here = toCallHere(toolCallId);
  if (approval?.status === 'refused') {
    if (status === 'error') yield toEvent({ type: 'tool-output-denied', toolCallId });
    return;
  }
  if (!approval && mayBeCallers === (status !== 'isRunning'))
    yield toEvent({ type: 'tool-input-available', ...here, toolName, input });
  if (status === 'done') yield toEvent({ type: 'tool-output-available', ...here, output: call.output ?? null });
  if (status === 'error')
    yield toEvent({ type: 'tool-output-error', ...here, errorText: call.error ?? 'The tool failed.' });
}
