import type { ChatMessage } from './chat-message.ts';
import type { MessageComponent, StreamEvent, ToolCall } from './wire.ts';

/** An answer with one more event of its stream: the same rules by which the service writes the stored message. */
export function applyEvent(message: ChatMessage, event: StreamEvent): ChatMessage {
  switch (event.eventName) {
    case 'message':
      return { ...message, content: message.content + event.payload.content };
    case 'reasoning':
      return { ...message, reasoning: (message.reasoning ?? '') + event.payload.reasoning };
    case 'tool_call': {
      const { eventId: id, toolName: name, args, status, output, error } = event.payload;
      return withToolCall(message, { id, name, args, status, output, error });
    }
    case 'action_call':
    case 'browser_tool_call': {
      const { toolCallId: id, toolName: name, args, status, output, error } = event.payload;
      return withToolCall(message, { id, name, args, status, output, error });
    }
    case 'render_component': {
      const { componentName, args, eventId } = event.payload;
      const component: MessageComponent = { componentName, args, eventId };
      const others = (message.components ?? []).filter((other) => other.eventId !== eventId);
      return { ...message, components: [...others, component] };
    }
    case 'done': {
      const { messageId: storedId = message.storedId, status = 'complete' } = event.payload;
      return { ...message, storedId, status, isStored: storedId !== undefined };
    }
    default:
      return message;
  }
}

/** A call keeps its place when it ends; by stream and by socket it is heard of twice, and an end is not undone. */
function withToolCall(message: ChatMessage, { output, error, ...base }: ToolCall): ChatMessage {
  const call: ToolCall = { ...base, ...(output !== undefined && { output }), ...(error !== undefined && { error }) };
  const calls = message.toolCalls ?? [];
  const known = calls.find(({ id }) => id === call.id);
  if (known && known.status !== 'isRunning' && call.status === 'isRunning') return message;
  const toolCalls = known ? calls.map((other) => (other === known ? call : other)) : [...calls, call];
  return { ...message, toolCalls };
}
