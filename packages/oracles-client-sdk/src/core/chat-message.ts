import type { MessageComponent, MessagePage, MessagePart, StreamEvent, ToolCall, WireMessage } from './wire.ts';

/** `sending` and `streaming` are this page's own; the others are the service's. */
export type MessageStatus = WireMessage['status'] | 'sending' | 'streaming';

export interface ChatMessage extends Omit<WireMessage, 'status'> {
  /** As stable as `id`; pages written before `id` was stable use it in lists. */
  key: string;
  /** The same on the page, in the history and after a reload. Other agents may store a question under another one, `storedId`. */
  id: string;
  storedId?: string | undefined;
  status: MessageStatus;
  /** While files of the message are uploaded: the share that has been sent, 0 to 1. */
  uploadProgress?: number | undefined;
  /** Of an answer: those that this page asked for before with the same question, oldest first. */
  earlier?: readonly ChatMessage[] | undefined;
  isStored: boolean;
}

export function indexAfterQuestion(messages: readonly ChatMessage[], requestId: string): number {
  const question = messages.findLastIndex((message) => message.type === 'human' && message.requestId === requestId);
  return question < 0 ? messages.length : question + 1;
}

type Text = Extract<MessagePart, { text: string }>;
type Call = Extract<MessagePart, { type: 'tool_call' | 'action_call' }>;
type Approval = Extract<MessagePart, { type: 'approval' }>;
type Component = Extract<MessagePart, { type: 'component' }>;

/** Parts that a socket has announced before the stream: they are last until the stream gives them their place. */
const early = new WeakSet<MessagePart>();

/** The parts of a message; of a server that sends none, in the order calls, text, components. */
export function toMessageParts(message: Omit<Partial<WireMessage>, 'status'>): readonly MessagePart[] {
  if (message.parts) return message.parts;
  const { content, reasoning, toolCalls = [], components = [], attachments = [] } = message;
  return [
    ...(reasoning ? [{ type: 'reasoning' as const, text: reasoning }] : []),
    ...toolCalls.map((call) => ({ type: 'tool_call' as const, ...call })),
    ...(content ? [{ type: 'text' as const, text: content }] : []),
    ...components.map((component) => ({ type: 'component' as const, ...component })),
    ...attachments.map((file) => ({ type: 'file' as const, ...file })),
  ];
}

/** With the next piece of a text. `index` is where the service has put it; without one it continues a text of its kind. */
function addText(parts: readonly MessagePart[], { type, text }: Text, index: number | undefined): MessagePart[] {
  const placed = parts.filter((part) => !early.has(part));
  const last = placed.at(-1);
  const continues = last?.type === type && (index ?? placed.length - 1) < placed.length;
  if (!continues && text === '') return [...parts];
  const before = continues ? (last as Text).text : '';
  const others = continues ? placed.slice(0, -1) : placed;
  // Line breaks between two texts belong to neither.
  const isFirst = before !== '' || !others.some((part) => part.type === type);
  const next = { type, text: before + (isFirst ? text : text.replace(/^\n+/, '')) };
  return [...others, next, ...parts.filter((part) => early.has(part))];
}

function setPart(parts: readonly MessagePart[], part: Call | Approval | Component, isEarly: boolean): MessagePart[] {
  const id = toId(part);
  const known = parts.find((other) => toId(other) === id);
  if (known && (isEarly || !early.has(known))) {
    if (early.has(known)) early.add(part);
    return parts.map((other) => (other === known ? part : other));
  }
  if (isEarly) {
    early.add(part);
    return [...parts, part];
  }
  const others = parts.filter((other) => other !== known);
  return [...others.filter((other) => !early.has(other)), part, ...others.filter((other) => early.has(other))];
}

function toId(part: MessagePart): string | undefined {
  if (part.type === 'component') return part.eventId;
  if (part.type === 'approval') return part.approvalId;
  return part.type === 'tool_call' || part.type === 'action_call' ? part.id : undefined;
}

/** By the rules of the stored message. `isEarly`: it came by socket, so the stream may still bring older events. */
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

export interface History {
  readonly messages: readonly ChatMessage[];
  readonly olderCursor: string | null;
}

/** A page of the service's history joined with what this page knows: nothing twice, nothing lost, keys kept. */
export function mergeHistory(state: History, { page, older }: { page: MessagePage; older: boolean }): History {
  const { olderCursor } = state;
  const current = withoutReplaced(state.messages, page.messages);
  if (older) {
    const known = new Set(current.map(({ storedId }) => storedId));
    const added = page.messages.filter(({ id }) => !known.has(id)).map(fromStored);
    return { messages: [...added, ...current], olderCursor: toOlderCursor(page) };
  }
  const matched = new Set<ChatMessage>();
  const messages: ChatMessage[] = withoutReplacedHere(page.messages, current).map((stored) => {
    const mine = current.find((message) => !matched.has(message) && isSame(message, stored));
    if (!mine) return fromStored(stored);
    matched.add(mine);
    return join(mine, stored);
  });
  const first = current.findIndex((message) => matched.has(message));
  const last = current.findLastIndex((message) => matched.has(message));
  // What is before the page was loaded earlier; without an overlap there may be a gap, so it is loaded again when asked.
  const before = first > 0 ? current.slice(0, first) : [];
  for (const [index, message] of current.entries()) {
    if (matched.has(message) || index < first) continue;
    // Not stored yet, never accepted, or newer than the page.
    if (message.isStored && (last < 0 || index < last)) continue;
    messages.splice(placeOf(message, { messages, before: current[index - 1] }), 0, message);
  }
  return { messages: [...before, ...messages], olderCursor: before.length > 0 ? olderCursor : toOlderCursor(page) };
}

/** A question that was refused stays where it was asked; one that is on its way comes last. */
function placeOf(
  { type, status, requestId }: ChatMessage,
  { messages, before }: { messages: readonly ChatMessage[]; before: ChatMessage | undefined },
): number {
  if (type === 'ai') return indexAfterQuestion(messages, requestId);
  const known = status === 'failed' ? messages.findIndex(({ key }) => key === before?.key) : -1;
  return known < 0 ? messages.length : known + 1;
}

/** Another page may have edited a question: what the service has replaced is not shown any more. */
function withoutReplaced(current: readonly ChatMessage[], page: readonly WireMessage[]): readonly ChatMessage[] {
  const gone = new Set<ChatMessage>();
  for (const { id, replaces } of page) {
    const from = replaces === undefined ? -1 : current.findIndex(({ storedId }) => storedId === replaces);
    if (from < 0) continue;
    const to = current.findIndex(({ storedId }, index) => index > from && storedId === id);
    for (const message of current.slice(from, to < 0 ? undefined : to)) if (message.storedId) gone.add(message);
  }
  return gone.size > 0 ? current.filter((message) => !gone.has(message)) : current;
}

/** A page that was asked for before this one replaced a question still lists it. */
function withoutReplacedHere(page: readonly WireMessage[], current: readonly ChatMessage[]): readonly WireMessage[] {
  let kept = page;
  for (const { replaces, requestId, status } of current) {
    const from = replaces && status !== 'failed' ? kept.findIndex(({ id }) => id === replaces) : -1;
    if (from < 0) continue;
    const to = kept.findIndex((stored, index) => index > from && stored.requestId === requestId);
    kept = [...kept.slice(0, from), ...(to < 0 ? [] : kept.slice(to))];
  }
  return kept;
}

function toOlderCursor({ hasOlder, prevCursor }: MessagePage): string | null {
  return hasOlder ? prevCursor : null;
}

function fromStored(stored: WireMessage): ChatMessage {
  return { ...stored, key: stored.id, storedId: stored.id, isStored: true };
}

function isSame(mine: ChatMessage, stored: WireMessage): boolean {
  if (mine.storedId === stored.id) return true;
  if (mine.isStored || mine.type !== stored.type) return false;
  // Services that do not keep the request id are known by what was said.
  return stored.requestId ? mine.requestId === stored.requestId : mine.content === stored.content;
}

function join(mine: ChatMessage, stored: WireMessage): ChatMessage {
  if (mine.status === 'streaming') return mine;
  // A service that was killed kept its last checkpoint; the reader has seen more than that.
  const isAhead = mine.content !== stored.content && mine.content.startsWith(stored.content);
  const { content, parts } = isAhead ? mine : stored;
  const { key, id, earlier } = mine;
  return { ...fromStored(stored), content, parts, key, id, earlier };
}
