import type { AgentApi } from './agent-api.ts';
import type { ChatMessage } from './chat-message.ts';
import type { ChatAction, ChatState } from './chat-state.ts';
import type { ClientTools } from './client-tools.ts';
import type { StreamingMode } from './event-buffer.ts';
import type { OracleError } from './oracle-error.ts';
import type { MatrixSession, Transport } from './transport.ts';
import type { OutgoingFile } from './upload-files.ts';
import type { AnyEvent } from './wire.ts';

export interface ChatOptions {
  transport: Transport;
  sessionId: string;
  /** Where the event channel is; no channel (and no browser tools) without it. */
  socketUrl?: string | undefined;
  streamingMode?: StreamingMode | undefined;
  /** How often `throttled` draws: every 50 ms by default. */
  streamingThrottleMs?: number | undefined;
  matrix?: MatrixSession | undefined;
  pageSize?: number | undefined;
  /** What the page offers; asked for each message and each call. */
  clientTools?: (() => ClientTools) | undefined;
  onPaymentRequired?: ((claimIds: string[]) => void) | undefined;
  onClientCall?: ((toolCallId: string, isRunning: boolean) => void) | undefined;
  /** Called with every event, `router_update` included; one that comes by stream and by socket is reported once. */
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
