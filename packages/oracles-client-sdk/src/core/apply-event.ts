import type { ChatMessage } from './chat-message.ts';
import { addText, setPart } from './message-parts.ts';
import type { MessageComponent, StreamEvent, ToolCall } from './wire.ts';

/**
 * An answer with one more event: the same rules by which the service writes the stored message. `isEarly`: it came by
 * socket, so the stream may have older ones.
 */
export function applyEvent(message: ChatMessage, event: StreamEvent, isEarly = false): ChatMessage {
  const parts = message.parts ?? [];
  switch (event.eventName) {
    case 'message': {
      const { content: text, part } = event.payload;
      return { ...message, content: message.content + text, parts: addText(parts, { type: 'text', text }, part) };
    }
    case 'reasoning': {
      const { reasoning: text, part } = event.payload;
      const reasoning = (message.reasoning ?? '') + text;
      return { ...message, reasoning, parts: addText(parts, { type: 'reasoning', text }, part) };
    }
    case 'tool_call': {
      const { eventId: id, toolName: name, args, status, output, error, parentId } = event.payload;
      return withToolCall(message, { id, name, args, status, output, error, parentId }, { type: 'tool_call', isEarly });
    }
    case 'action_call':
    case 'browser_tool_call': {
      const { toolCallId: id, toolName: name, args, status, output, error } = event.payload;
      const type = event.eventName === 'action_call' ? 'action_call' : 'tool_call';
      return withToolCall(message, { id, name, args, status, output, error }, { type, isEarly });
    }
    case 'approval_request': {
      const { sessionId, requestId, runId, part, ...approval } = event.payload;
      const others = (message.approvals ?? []).filter(({ approvalId }) => approvalId !== approval.approvalId);
      return {
        ...message,
        approvals: [...others, approval],
        parts: setPart(parts, { type: 'approval', ...approval }, isEarly),
      };
    }
    case 'render_component': {
      const { componentName, args, eventId } = event.payload;
      const component: MessageComponent = { componentName, args, eventId };
      const others = (message.components ?? []).filter((other) => other.eventId !== eventId);
      return {
        ...message,
        components: [...others, component],
        parts: setPart(parts, { type: 'component', ...component }, isEarly),
      };
    }
    case 'error': {
      const { error, code, kind, retryable } = event.payload;
      return { ...message, error: { message: error, code, kind, retryable } };
    }
    case 'done': {
      const { messageId: storedId = message.storedId, status = 'complete', finish } = event.payload;
      return { ...message, storedId, status, isStored: storedId !== undefined, ...(finish && { finish }) };
    }
    default:
      return message;
  }
}

/** A call keeps its place when it ends; by stream and by socket it is reported twice, and an end is not undone. */
function withToolCall(
  message: ChatMessage,
  { output, error, parentId, ...base }: ToolCall,
  { type, isEarly }: { type: 'tool_call' | 'action_call'; isEarly: boolean },
): ChatMessage {
  const calls = message.toolCalls ?? [];
  const known = calls.find(({ id }) => id === base.id);
  const isOutdated = known !== undefined && known.status !== 'isRunning' && base.status === 'isRunning';
  const call: ToolCall = isOutdated
    ? known
    : {
        ...base,
        ...(output !== undefined && { output }),
        ...(error !== undefined && { error }),
        ...(parentId !== undefined && { parentId }),
      };
  const toolCalls = known ? calls.map((other) => (other === known ? call : other)) : [...calls, call];
  return { ...message, toolCalls, parts: setPart(message.parts ?? [], { type, ...call }, isEarly) };
}
