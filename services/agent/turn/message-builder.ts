import type { EndedRunStatus, Message, MessageComponent, SseEvent, ToolCall } from '@palaver/contract';

/** Collects the answer of a run from the run's own events, so that stream and stored message cannot differ. */
export interface MessageBuilder {
  add(event: SseEvent): void;
  /** The answer as it stands. */
  toMessage(status: EndedRunStatus): Message;
}

export function createMessageBuilder(base: Pick<Message, 'id' | 'createdAt' | 'requestId'>): MessageBuilder {
  let content = '';
  let reasoning = '';
  const toolCalls = new Map<string, ToolCall>();
  const components = new Map<string, MessageComponent>();

  return {
    add(event) {
      switch (event.name) {
        case 'message':
          content += event.data.content;
          break;
        case 'reasoning':
          reasoning += event.data.reasoning;
          break;
        case 'tool_call': {
          const { eventId: id, toolName: name, args, status, output, error } = event.data;
          toolCalls.set(id, toToolCall({ id, name, args, status, output, error }));
          break;
        }
        case 'action_call':
        case 'browser_tool_call': {
          const { toolCallId: id, toolName: name, args, status, output, error } = event.data;
          toolCalls.set(id, toToolCall({ id, name, args, status, output, error }));
          break;
        }
        case 'render_component': {
          const { eventId, componentName, args } = event.data;
          components.set(eventId, { componentName, args, eventId });
          break;
        }
      }
    },
    toMessage(status) {
      return {
        ...base,
        type: 'ai',
        content,
        status,
        ...(toolCalls.size > 0 && { toolCalls: [...toolCalls.values()] }),
        ...(reasoning !== '' && { reasoning }),
        ...(components.size > 0 && { components: [...components.values()] }),
      };
    },
  };
}

function toToolCall({ output, error, ...call }: ToolCall): ToolCall {
  return { ...call, ...(output !== undefined && { output }), ...(error !== undefined && { error }) };
}
