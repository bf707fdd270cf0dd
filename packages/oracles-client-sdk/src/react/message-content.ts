import type { AgentTypes, ComponentOf, PartOf, ToolCallOf } from '../core/agent-types.ts';
import { type ChatMessage, toMessageParts } from '../core/chat-message.ts';
import type { Approval, ApprovalStatus, Arguments, Attachment, CallStatus, MessagePart } from '../core/wire.ts';

/** A call or a component inside of a message, as data; `renderMessageContent` draws it. */
export interface IComponentMetadata {
  name: string;
  props: {
    id: string;
    args: Arguments;
    status?: CallStatus | undefined;
    // biome-ignore lint/suspicious/noExplicitAny: what a tool gives back is the tool's; the older library had a string.
    output?: any;
    error?: string | undefined;
    /** The user refused the call, or did not answer in time: nothing has failed. */
    isRefused?: boolean | undefined;
    isToolCall?: boolean | undefined;
    isAgAction?: boolean | undefined;
    toolName?: string | undefined;
    approval?: Approval | undefined;
  };
}

/** A plain text, or texts, calls and components in the order in which they came. */
export type MessageContent = string | IComponentMetadata | Array<string | IComponentMetadata>;

/** A message of the thread, in-flight ones included. */
export interface IMessage<Agent extends AgentTypes = AgentTypes>
  extends Omit<ChatMessage, 'content' | 'parts' | 'toolCalls' | 'components'> {
  content: MessageContent;
  text: string;
  parts?: PartOf<Agent>[] | undefined;
  toolCalls?: ToolCallOf<Agent>[] | undefined;
  components?: ComponentOf<Agent>[] | undefined;
  /** @deprecated Use `status`. */
  isComplete?: boolean | undefined;
  /** @deprecated Use `attachments`. */
  attachment?: Attachment | undefined;
}

const known = new WeakMap<ChatMessage, IMessage>();
const origins = new WeakMap<IMessage, ChatMessage>();

/** The same object for the same message, so that memoised components do not render again. */
export function toIMessage(message: ChatMessage): IMessage {
  const found = known.get(message);
  if (found) return found;
  const { status, attachments } = message;
  const made: IMessage = {
    ...message,
    content: toContent(message),
    text: message.content,
    isComplete: status !== 'sending' && status !== 'streaming',
    attachment: attachments?.[0],
  };
  known.set(message, made);
  origins.set(made, message);
  return made;
}

export function fromIMessage(message: IMessage): ChatMessage {
  const origin = origins.get(message);
  if (origin) return origin;
  const { text, isComplete: _isComplete, attachment: _attachment, content, ...rest } = message;
  return { ...rest, content: text ?? (typeof content === 'string' ? content : '') };
}

function toContent(message: ChatMessage): MessageContent {
  const refused = new Set(message.approvals?.map(({ status, toolCallId }) => isRefusal(status) && toolCallId));
  const content = toMessageParts(message)
    .flatMap(toContentPart)
    .map((part) => (typeof part !== 'string' && refused.has(part.props.id) ? withRefusal(part) : part));
  // Drawn by a component named `Error`, if the page has one.
  if (message.error)
    content.push({ name: 'Error', props: { id: 'error', args: {}, status: 'done', output: message.error.message } });
  return content.every((part) => typeof part === 'string') ? (message.content ?? '') : content;
}

const isRefusal = (status: ApprovalStatus) => status === 'refused' || status === 'expired';
const withRefusal = ({ name, props }: IComponentMetadata) => ({ name, props: { ...props, isRefused: true } });

export function toContentPart(part: MessagePart): (string | IComponentMetadata)[] {
  switch (part.type) {
    case 'text':
      return part.text ? [part.text] : [];
    case 'component': {
      const { componentName: name, eventId: id, args } = part;
      return [{ name, props: { id, args, status: 'done' } }];
    }
    case 'tool_call':
    case 'action_call': {
      const { type, id, name, args, status, output, error } = part;
      const kind = type === 'action_call' ? { isAgAction: true } : { isToolCall: true };
      return [{ name, props: { id, args, status, output, error, toolName: name, ...kind } }];
    }
    case 'approval': {
      const { type: _type, ...approval } = part;
      const status = approval.status === 'pending' ? 'isRunning' : approval.status === 'approved' ? 'done' : 'error';
      const { approvalId: id, args, toolName } = approval;
      return [{ name: 'Approval', props: { id, args, status, toolName, approval } }];
    }
    default:
      return [];
  }
}
