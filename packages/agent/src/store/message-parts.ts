import type { Message, MessagePart } from '@palaver/contract';

/** What a message holds, without its order. */
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
