import type {
  EndedRunStatus,
  Message,
  MessageComponent,
  MessageError,
  MessageFinish,
  SseEvent,
  ToolCall,
} from '@palaver/contract';

export type CallEvent = Extract<SseEvent, { name: 'tool_call' | 'action_call' | 'browser_tool_call' }>;

export const stoppedMessage = 'The turn was stopped.';

/** Collects the answer of a run from the run's own events, so that stream and stored message cannot differ. */
export interface MessageBuilder {
  add(event: SseEvent): void;
  /** The calls that have started and not ended. */
  openCalls(): CallEvent[];
  /** The answer is there and not whole. */
  setFinish(finish: MessageFinish): void;
  /** The answer as it stands. */
  toMessage(status: EndedRunStatus): Message;
}

export function createMessageBuilder(base: Pick<Message, 'id' | 'createdAt' | 'requestId'>): MessageBuilder {
  let content = '';
  let reasoning = '';
  let finish: MessageFinish | undefined;
  let error: MessageError | undefined;
  const toolCalls = new Map<string, ToolCall>();
  const open = new Map<string, CallEvent>();
  const components = new Map<string, MessageComponent>();

  function addCall(event: CallEvent): void {
    const { toolName: name, args, status, output, error } = event.data;
    const id = 'eventId' in event.data ? event.data.eventId : event.data.toolCallId;
    const parentId = 'parentId' in event.data ? event.data.parentId : undefined;
    toolCalls.set(id, toToolCall({ id, name, args, status, output, error, parentId }));
    if (status === 'isRunning') open.set(id, event);
    else open.delete(id);
  }

  return {
    add(event) {
      switch (event.name) {
        case 'message':
          content += event.data.content;
          break;
        case 'reasoning':
          reasoning += event.data.reasoning;
          break;
        case 'tool_call':
        case 'action_call':
        case 'browser_tool_call':
          addCall(event);
          break;
        case 'render_component': {
          const { eventId, componentName, args } = event.data;
          components.set(eventId, { componentName, args, eventId });
          break;
        }
        case 'error': {
          const { error: message, code, kind, retryable } = event.data;
          error = { message, code, kind, retryable };
        }
      }
    },
    setFinish(reason) {
      finish = reason;
    },
    openCalls: () => [...open.values()],
    toMessage(status) {
      return {
        ...base,
        type: 'ai',
        content,
        status,
        ...(status === 'complete' && finish && { finish }),
        ...(status === 'failed' && error && { error }),
        ...(toolCalls.size > 0 && { toolCalls: [...toolCalls.values()].map(toEndedCall) }),
        ...(reasoning !== '' && { reasoning }),
        ...(components.size > 0 && { components: [...components.values()] }),
      };
    },
  };
}

function toToolCall({ output, error, parentId, ...call }: ToolCall): ToolCall {
  return {
    ...call,
    ...(output !== undefined && { output }),
    ...(error !== undefined && { error }),
    ...(parentId !== undefined && { parentId }),
  };
}

/** In a message that has ended nothing runs any more. */
function toEndedCall(call: ToolCall): ToolCall {
  return call.status === 'isRunning' ? { ...call, status: 'error', error: stoppedMessage } : call;
}
