import type { SseEventData } from '@palaver/contract';
import type { AgentRun } from '../../plugins/agent-run.ts';
import { createCallTracker } from '../collect-answer.ts';
import { toEvent } from '../event-stream.ts';

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
  callers: Set<string>;
}

/** A run as the chunks of a UI message stream. */
export async function* toUiChunks(run: AgentRun, { messageId, callers }: UiStreamOptions): AsyncGenerator<string> {
  const calls = createCallTracker();
  const texts = createTextChunks();
  yield toEvent({ type: 'start', messageId });
  yield toEvent({ type: 'start-step' });
  for await (const { name, data } of run.events()) {
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
        yield* toCallChunks(data, callers.has(data.toolName));
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
        yield toEvent({ type: 'finish-step' });
        if (data.status === 'aborted') yield toEvent({ type: 'abort' });
        else
          yield toEvent({
            type: 'finish',
            finishReason: finishReasons[data.finish ?? ''] ?? (data.status === 'failed' ? 'error' : 'stop'),
          });
        yield toEvent('[DONE]');
    }
  }
}

/** `providerExecuted`: it ran here, so the client neither runs it nor sends the conversation again for its sake. */
function* toCallChunks(call: ToolCall, mayBeCallers: boolean): Generator<string> {
  const { eventId: toolCallId, toolName, args: input, status } = call;
  const here = { toolCallId, providerExecuted: true, dynamic: true };
  if (mayBeCallers === (status !== 'isRunning'))
    yield toEvent({ type: 'tool-input-available', ...here, toolName, input });
  if (status === 'done') yield toEvent({ type: 'tool-output-available', ...here, output: call.output ?? null });
  if (status === 'error')
    yield toEvent({ type: 'tool-output-error', ...here, errorText: call.error ?? 'The tool failed.' });
}

/** Texts and reasoning in blocks, one for each part of the message. */
function createTextChunks() {
  let open: { type: 'text' | 'reasoning'; id: string } | undefined;
  function* end(): Generator<string> {
    if (open) yield toEvent({ type: `${open.type}-end`, id: open.id });
    open = undefined;
  }
  return {
    *add(type: 'text' | 'reasoning', delta: string, part = 0): Generator<string> {
      if (delta === '') return;
      const id = `${type}-${part}`;
      if (open?.id !== id) {
        yield* end();
        open = { type, id };
        yield toEvent({ type: `${type}-start`, id });
      }
      yield toEvent({ type: `${type}-delta`, id, delta });
    },
    end,
  };
}
