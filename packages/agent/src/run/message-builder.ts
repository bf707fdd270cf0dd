import type {
  Approval,
  EndedRunStatus,
  Message,
  MessageError,
  MessageFinish,
  SseEvent,
  ToolCall,
} from '@palaver/contract';
import type { MessageComponent } from '@palaver/contract/internal';
import { type PartPlace, toParts } from '../store/message-parts.ts';

export type CallEvent = Extract<SseEvent, { name: 'tool_call' | 'action_call' | 'browser_tool_call' }>;

export const stoppedMessage = 'The turn was stopped.';

/** Collects the answer of a run from the run's own events, so that stream and stored message cannot differ. */
export interface MessageBuilder {
  /** Gives the index of the part of the message that it belongs to. */
  add(event: SseEvent): number | undefined;
  /** The calls that have started and not ended. */
  openCalls(): CallEvent[];
  /** The approvals so far, answered or not. */
  approvals(): Approval[];
  /** The answer is there and not whole. */
  setFinish(finish: MessageFinish): void;
  /** The answer so far. */
  toMessage(status: EndedRunStatus): Message;
}

export function createMessageBuilder(base: Pick<Message, 'id' | 'createdAt' | 'requestId'>): MessageBuilder {
  let content = '';
  let reasoning = '';
  let finish: MessageFinish | undefined;
  let error: MessageError | undefined;
  const toolCalls = new Map<string, ToolCall>();
  const open = new Map<string, CallEvent>();
  const approvals = new Map<string, Approval>();
  const components = new Map<string, MessageComponent>();
  const order: PartPlace[] = [];
  /** Where the parts with an id are in `order`. */
  const places = new Map<string, number>();
  const begun = { text: 0, reasoning: 0 };
  let isReasoningOver = false;

  /** A text continues the last part if that is of its kind. Line breaks between two parts belong to neither. */
  function addText(type: 'text' | 'reasoning', text: string, continues = true): number | undefined {
    const last = order.at(-1);
    const length = (isContinued: boolean) => (isContinued ? text : text.replace(/^\n+/, '')).length;
    if (continues && last?.[0] === type) {
      const before = last[1] as number;
      last[1] = before + length(before > 0 || begun[type] === 1);
    } else if (text === '') return undefined;
    else {
      order.push([type, length(begun[type] === 0)]);
      begun[type] += 1;
    }
    return order.length - 1;
  }

  function findPlace(type: 'tool_call' | 'action_call' | 'approval' | 'component', id: string): number {
    const known = places.get(`${type} ${id}`);
    if (known !== undefined) return known;
    places.set(`${type} ${id}`, order.length);
    return order.push([type, id]) - 1;
  }

  function addCall(event: CallEvent): number {
    const { toolName: name, args, status, output, error } = event.data;
    const id = 'eventId' in event.data ? event.data.eventId : event.data.toolCallId;
    const parentId = 'parentId' in event.data ? event.data.parentId : undefined;
    toolCalls.set(id, toToolCall({ id, name, args, status, output, error, parentId }));
    if (status === 'isRunning') open.set(id, event);
    else open.delete(id);
    return findPlace(event.name === 'action_call' ? 'action_call' : 'tool_call', id);
  }

  return {
    add(event) {
      switch (event.name) {
        case 'message':
          content += event.data.content;
          return addText('text', event.data.content);
        case 'reasoning': {
          reasoning += event.data.reasoning;
          const part = addText('reasoning', event.data.reasoning, !isReasoningOver);
          isReasoningOver = event.data.isComplete;
          return part;
        }
        case 'tool_call':
        case 'action_call':
        case 'browser_tool_call':
          return addCall(event);
        case 'approval_request': {
          const { sessionId, requestId, runId, part, ...approval } = event.data;
          approvals.set(approval.approvalId, approval);
          return findPlace('approval', approval.approvalId);
        }
        case 'render_component': {
          const { eventId, componentName, args } = event.data;
          components.set(eventId, { componentName, args, eventId });
          return findPlace('component', eventId);
        }
        case 'error': {
          const { error: message, code, kind, retryable } = event.data;
          error = { message, code, kind, retryable };
        }
      }
      return undefined;
    },
    setFinish(reason) {
      finish = reason;
    },
    openCalls: () => [...open.values()],
    approvals: () => [...approvals.values()],
    toMessage(status) {
      const isHandedOff = status === 'complete' && finish === 'tool_calls';
      const calls = [...toolCalls.values()];
      const held = {
        content,
        ...(calls.length > 0 && { toolCalls: isHandedOff ? calls : calls.map(toEndedCall) }),
        ...(approvals.size > 0 && { approvals: [...approvals.values()] }),
        ...(reasoning !== '' && { reasoning }),
        ...(components.size > 0 && { components: [...components.values()] }),
      };
      return {
        ...base,
        type: 'ai',
        status,
        ...held,
        parts: toParts(held, order),
        ...(status === 'complete' && finish && { finish }),
        ...(status === 'failed' && error && { error }),
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
