// Plain types, because the published declarations must not depend on a version of zod. `wire.test-d.ts` compares them.

export type CallStatus = 'isRunning' | 'done' | 'error';
export type EndedStatus = 'complete' | 'aborted' | 'failed';
export type Arguments = Record<string, unknown>;

export interface ToolCall {
  id: string;
  name: string;
  args: Arguments;
  status: CallStatus;
  output?: unknown;
  error?: string | undefined;
  /** Of a sub-agent: the call that the sub-agent is. */
  parentId?: string | undefined;
}

export type ApprovalStatus = 'pending' | 'approved' | 'refused' | 'expired';

/** What a delegation grants: `can` on the resource `with`, under the conditions `nb`. */
export interface GrantedCapability {
  can: string;
  with: string;
  nb?: Record<string, unknown> | undefined;
}

/** A tool call that runs only once the user has approved it. */
export interface Approval {
  approvalId: string;
  toolCallId: string;
  toolName: string;
  args: Arguments;
  /** Where the call waits for a delegation: what it has to grant. Approving it signs exactly this. */
  capability?: GrantedCapability | undefined;
  /** Where the call is made with an invocation of the user: approving it signs exactly this. */
  invocation?: { audience: string; capability: GrantedCapability } | undefined;
  status: ApprovalStatus;
  askedAt: string;
  expiresAt: string;
  answeredAt?: string | undefined;
  answeredBy?: string | undefined;
  reason?: string | undefined;
}

export interface MessageComponent {
  componentName: string;
  args: Arguments;
  eventId: string;
}

export interface Attachment {
  mxcUri?: string | undefined;
  eventId?: string | undefined;
  fileId?: string | undefined;
  filename: string;
  mimetype: string;
}

/** One part of a message; `parts` has them in the order in which they came. */
export type MessagePart =
  | { type: 'text' | 'reasoning'; text: string }
  | (ToolCall & { type: 'tool_call' | 'action_call' })
  | (Approval & { type: 'approval' })
  | (MessageComponent & { type: 'component' })
  | (Attachment & { type: 'file' });

type ErrorKind = 'model' | 'rate_limit' | 'timeout' | 'limit' | 'internal';
type Finish = 'length' | 'content_filter' | 'step_limit' | 'tool_calls';

export interface WireMessage {
  id: string;
  type: 'human' | 'ai';
  content: string;
  createdAt: string;
  status: EndedStatus;
  requestId: string;
  /** Missing from older servers. */
  parts?: MessagePart[] | undefined;
  /** Why an answer that is complete is not whole. */
  finish?: Finish | undefined;
  error?: { message: string; code: string; kind: ErrorKind; retryable: boolean } | undefined;
  toolCalls?: ToolCall[] | undefined;
  approvals?: Approval[] | undefined;
  reasoning?: string | undefined;
  attachments?: Attachment[] | undefined;
  replaces?: string | undefined;
  components?: MessageComponent[] | undefined;
}

export interface MessagePage {
  messages: WireMessage[];
  prevCursor: string | null;
  nextCursor: string | null;
  hasOlder: boolean;
  hasNewer: boolean;
}

export interface Session {
  sessionId: string;
  title: string;
  createdAt: string;
  lastUpdatedAt: string;
  oracleName: string;
  oracleDid: string;
  roomId: string;
}

export interface SessionList {
  sessions: Session[];
  total: number;
  limit: number;
  offset: number;
}

export interface Memory {
  id: string;
  text: string;
  kind: 'fact' | 'artifact';
  createdAt: string;
}

export interface MemoryList {
  memories: Memory[];
  total: number;
  limit: number;
  offset: number;
}

interface InTurn {
  sessionId: string;
  requestId: string;
}

/** The index in `parts` that an event belongs to. */
interface InPart {
  part?: number | undefined;
}

export interface CallOutcome extends InPart {
  status: CallStatus;
  output?: unknown;
  error?: string | undefined;
}

interface ClientCall extends InTurn {
  toolCallId: string;
  toolName: string;
  args: Arguments;
}

export interface StreamEventData {
  run: InTurn & { runId: string; messageId?: string | undefined; userMessageId?: string | undefined };
  message: InPart & { content: string; timestamp: string };
  reasoning: InTurn & InPart & { reasoning: string; isComplete: boolean };
  tool_call: InTurn &
    CallOutcome & {
      eventId: string;
      toolName: string;
      args: Arguments;
      progress?: { value: number; total?: number | undefined; message?: string | undefined } | undefined;
      parentId?: string | undefined;
    };
  action_call: ClientCall & CallOutcome;
  approval_request: InTurn & InPart & Approval & { runId: string };
  render_component: InTurn & InPart & { eventId: string; componentName: string; args: Arguments; status: CallStatus };
  browser_tool_call: ClientCall & CallOutcome;
  router_update: InTurn & { from?: string | undefined; to: string; reason?: string | undefined };
  error: {
    error: string;
    code: string;
    kind: ErrorKind;
    retryable: boolean;
    timestamp: string;
  };
  done: {
    runId: string;
    messageId: string;
    status: EndedStatus;
    finish?: Finish | undefined;
    usage?: { inputTokens: number; outputTokens: number } | undefined;
  };
}

interface CatalogueEntry {
  name: string;
  description: string;
}

export interface SocketEventPayload {
  connected: { sessionId: string; did: string; socketId?: string | undefined; timestamp: string };
  pong: { timestamp: string };
  status: {
    connected: boolean;
    sessionId: string;
    did: string;
    activeSessions: number;
    totalConnections: number;
    uptime: number;
    timestamp: string;
  };
  subscribed: { sessionId: string; events: string[] };
  'available-events': { serverEvents: CatalogueEntry[]; clientEvents: CatalogueEntry[] };
  tool_call: StreamEventData['tool_call'];
  action_call: ClientCall & { status: 'isRunning' };
  browser_tool_call: ClientCall;
  approval_request: StreamEventData['approval_request'];
  render_component: StreamEventData['render_component'];
  router_update: StreamEventData['router_update'];
  message_cache_invalidation: { sessionId: string; messageId?: string | undefined };
  error: { code: string; message: string };
}

type Named<Payloads> = { [Name in keyof Payloads]: { eventName: Name; payload: Payloads[Name] } }[keyof Payloads];

export type StreamEvent = Named<StreamEventData>;
export type SocketEvent = Named<SocketEventPayload>;

export type ClientCallEvent = Extract<SocketEvent, { eventName: 'browser_tool_call' | 'action_call' }>;

/** Any event of the agent, streamed or by socket, distinguished by `eventName`. */
export type AnyEvent = StreamEvent | SocketEvent;
