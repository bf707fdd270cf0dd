import type { AgentApi } from './agent-api.ts';
import type { Approvals, Reauthorizer } from './approvals.ts';
import type { ChatMessage } from './chat-message.ts';
import type { ChatAction, ChatState } from './chat-state.ts';
import type { ClientTools } from './client-tools.ts';
import type { StreamingMode } from './event-buffer.ts';
import type { OracleError } from './oracle-error.ts';
import type { MatrixSession, Transport } from './transport.ts';
import type { OutgoingFile, UploadOptions } from './upload-files.ts';
import type { AnyEvent, Attachment } from './wire.ts';

export interface ChatOptions {
  transport: Transport;
  sessionId: string;
  /** Where the event channel is; no channel (and no browser tools) without it. */
  socketUrl?: string | undefined;
  streamingMode?: StreamingMode | undefined;
  /** Of the mode `throttled`: 50 by default. */
  streamingThrottleMs?: number | undefined;
  matrix?: MatrixSession | undefined;
  pageSize?: number | undefined;
  /** What the page offers; asked for each message and each call. */
  clientTools?: (() => ClientTools) | undefined;
  onPaymentRequired?: ((claimIds: string[]) => void) | undefined;
  onClientCall?: ((toolCallId: string, isRunning: boolean) => void) | undefined;
  /** Called with every event; one that comes by stream and by socket is reported once. */
  onEvent?: ((event: AnyEvent) => void) | undefined;
  /** Called with each answer that is complete or was stopped by the service's `done`. */
  onFinish?: ((message: ChatMessage) => void) | undefined;
  onError?: ((error: OracleError) => void) | undefined;
}

export interface SendOptions {
  model?: string;
  attachments?: readonly OutgoingFile[];
  mcpInvocations?: Record<string, string>;
  metadata?: Record<string, unknown>;
  /** The stored id of a question whose place the message takes: it and everything after it leave the conversation. */
  replaces?: string;
}

export interface ChatSnapshot extends ChatState {
  readonly isRealTimeConnected: boolean;
}

export interface Chat {
  get(): ChatSnapshot;
  /** Calls back with the state, now and after every change; returns the way to stop. A store of Svelte, too. */
  subscribe(listener: (state: ChatSnapshot) => void): () => void;
  /** Loads the history, resumes a turn that is under way and opens the event channel; returns the way to stop. */
  start(): () => void;
  /** Resolves when the answer is complete. A failure, or an answer that has to be resumed, is in the state. */
  send(text: string, options?: SendOptions): Promise<void>;
  retry(): Promise<void>;
  /** Asks for another answer to a question: to that of this message, or to the last one. */
  regenerate(messageId?: string): Promise<void>;
  /** Sends other words in place of a question; what came after it leaves the conversation. */
  edit(messageId: string, text: string, options?: SendOptions): Promise<void>;
  upload(file: Blob, options?: UploadOptions): Promise<Attachment>;
  download(fileId: string): Promise<Blob>;
  /** Changes what this page shows, and nothing at the service: the next load of the history joins both. */
  setMessages(messages: readonly ChatMessage[]): void;
  /** Answers an approval of a message: the tool runs, or the agent reads the reason why not. */
  answerApproval: Approvals['answer'];
  /** Signs a delegation of one capability and stores it at the agent. Ask the user first. */
  grant: Reauthorizer['grant'];
  /** Stops the answer on this page at once, then at the service. Never rejects. */
  abort(): Promise<void>;
  refetch(): Promise<readonly ChatMessage[]>;
  loadOlder(): Promise<void>;
}

export interface ChatParts {
  options: ChatOptions;
  api: AgentApi;
  get(): ChatSnapshot;
  dispatch(action: ChatAction): void;
  signal(): AbortSignal;
  sync(): Promise<void>;
  syncQuietly(): void;
  /** Answers what an event asks of the library itself: a new delegation, an approval to remember. */
  take(event: AnyEvent): void;
}
