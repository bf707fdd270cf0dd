import type { MessagePart, WireMessage } from './wire.ts';

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
export function addText(parts: readonly MessagePart[], { type, text }: Text, index: number | undefined): MessagePart[] {
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

/** With a call, an approval or a component, new or changed. */
export function setPart(
  parts: readonly MessagePart[],
  part: Call | Approval | Component,
  isEarly: boolean,
): MessagePart[] {
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
