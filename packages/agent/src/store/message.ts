import type {
  Approval,
  EndedRunStatus,
  Message,
  MessageError,
  MessageFinish,
  MessagePart,
  SseEvent,
  ToolCall,
} from '@palaver/contract';
import type { MessageComponent } from '@palaver/contract/internal';
import type { EarlierMessage } from '../define/agent-run.ts';

export interface MessageExtras
  extends Omit<Message, 'id' | 'type' | 'content' | 'status' | 'requestId' | 'createdAt' | 'parts'> {
  order?: PartPlace[] | undefined;
}

export interface HiddenExtras {
  files?: KeptFile[] | undefined;
  /** Of a question: the conversation before it, as the caller sent it. */
  earlier?: EarlierMessage[] | undefined;
}

/** A file of a question, for the model in later turns; without its text where it has none or is too long. */
export type KeptFile = { name: string; text?: string };

export interface StoredMessage extends Message, HiddenExtras {}

export const toShown = ({ files, earlier, ...message }: StoredMessage): Message => message;

type PartFields = Pick<Message, 'content' | 'reasoning' | 'toolCalls' | 'approvals' | 'components' | 'attachments'>;

/** The place of one part: a text by its length, everything else by its id. Texts themselves are kept once, in `content`. */
export type PartPlace =
  | ['text' | 'reasoning', number]
  | ['tool_call' | 'action_call' | 'approval' | 'component', string];

/** The parts of a message in that order, files last. Without an order, as in rows of older versions, the text is last but files. */
export function toParts(fields: PartFields, order: PartPlace[] = toDefaultOrder(fields)): MessagePart[] {
  const { content, reasoning = '', toolCalls = [], approvals = [], components = [], attachments = [] } = fields;
  const takeText = createTextReader(content);
  const takeReasoning = createTextReader(reasoning);
  const takeApproval = createTaker(approvals, ({ approvalId }) => approvalId);
  const takeComponent = createTaker(components, ({ eventId }) => eventId);
  const takeCall = createTaker(toolCalls, ({ id }) => id);
  const parts = order.flatMap(([type, place]): MessagePart[] => {
    switch (type) {
      case 'text':
        return [{ type, text: takeText(place) }];
      case 'reasoning':
        return [{ type, text: takeReasoning(place) }];
      case 'approval':
        return takeApproval(place).map((approval) => ({ type, ...approval }));
      case 'component':
        return takeComponent(place).map((component) => ({ type, ...component }));
      default:
        return takeCall(place).map((call) => ({ type, ...call }));
    }
  });
  return [...parts, ...attachments.map((file) => ({ type: 'file' as const, ...file }))];
}

/** The order of a message's parts; undefined if it is the default one. */
export function toPartOrder(message: Message): PartPlace[] | undefined {
  const order = message.parts?.flatMap((part): PartPlace[] => {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [[part.type, part.text.length]];
      case 'approval':
        return [[part.type, part.approvalId]];
      case 'component':
        return [[part.type, part.eventId]];
      case 'file':
        return [];
      default:
        return [[part.type, part.id]];
    }
  });
  return JSON.stringify(order) === JSON.stringify(toDefaultOrder(message)) ? undefined : order;
}

function toDefaultOrder({ content, reasoning = '', toolCalls = [], components = [] }: PartFields): PartPlace[] {
  return [
    ...(reasoning === '' ? [] : ([['reasoning', reasoning.length]] as PartPlace[])),
    ...toolCalls.map(({ id }): PartPlace => ['tool_call', id]),
    ...components.map(({ eventId }): PartPlace => ['component', eventId]),
    ...(content === '' ? [] : ([['text', content.length]] as PartPlace[])),
  ];
}

/** Gives each item once: callers write ids, and of two items with one id each has its own place. */
function createTaker<T>(items: T[], idOf: (item: T) => string): (id: string) => T[] {
  const left = Map.groupBy(items.toReversed(), idOf);
  return (id) => {
    const item = left.get(id)?.pop();
    return item === undefined ? [] : [item];
  };
}

/** Reads a text piece by piece; the line breaks between two pieces belong to neither. */
function createTextReader(text: string): (length: number) => string {
  let at = 0;
  return (length) => {
    while (at > 0 && text[at] === '\n') at += 1;
    const piece = text.slice(at, at + length);
    at += length;
    return piece;
  };
}

export function toMessageRow(runId: string, message: StoredMessage) {
  const { id, type, content, status, requestId, createdAt, parts: _, files, earlier, ...fields } = message;
  const extras: MessageExtras = { ...fields, order: toPartOrder(message) };
  return {
    id,
    position: `${runId}:${type === 'human' ? 0 : 1}`,
    type,
    // PostgreSQL has no U+0000 in its texts; a model or a tool may.
    content: content.replaceAll('\0', '\ufffd'),
    status,
    requestId,
    extras: toJson(extras),
    hidden: toJson({ files, earlier }),
    createdAt: Date.parse(createdAt),
  };
}

export type Prefixed<Row> = { [Key in keyof Row & string as `message_${Key}`]: Row[Key] };

export function toPrefixed<Row extends object>(row: Row): Prefixed<Row> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [`message_${name}`, value])) as Prefixed<Row>;
}

function toJson<Fields extends object>(fields: Fields): string | null {
  return Object.values(fields).some((value) => value !== undefined) ? JSON.stringify(fields) : null;
}

type CallEvent = Extract<SseEvent, { name: 'tool_call' | 'action_call' | 'browser_tool_call' }>;

export const stoppedMessage = 'The turn was stopped.';

/** Collects the answer of a run from the run's own events, so that stream and stored message cannot differ. */
export function createMessageBuilder(base: Pick<Message, 'id' | 'createdAt' | 'requestId'>) {
  let content = '';
  let reasoning = '';
  let finish: MessageFinish | undefined;
  let error: MessageError | undefined;
  const toolCalls = new Map<string, ToolCall>();
  const open = new Map<string, CallEvent>();
  const approvals = new Map<string, Approval>();
  const components = new Map<string, MessageComponent>();
  const order: PartPlace[] = [];
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
    /** Returns the index of the message's part that the event belongs to. */
    add(event: SseEvent): number | undefined {
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
    setFinish(reason: MessageFinish): void {
      finish = reason;
    },
    openCalls: () => [...open.values()],
    approvals: () => [...approvals.values()],
    toMessage(status: EndedRunStatus): Message {
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
