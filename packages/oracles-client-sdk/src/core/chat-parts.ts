import type { AgentApi } from './agent-api.ts';
import type { ChatOptions, ChatSnapshot } from './chat-interface.ts';
import type { ChatAction } from './chat-state.ts';
import type { AnyEvent } from './wire.ts';

/** What the parts of one chat share. */
export interface ChatParts {
  options: ChatOptions;
  api: AgentApi;
  get(): ChatSnapshot;
  dispatch(action: ChatAction): void;
  /** Ends when the chat is closed. */
  signal(): AbortSignal;
  sync(): Promise<void>;
  syncQuietly(): void;
  /** Answers what an event asks of the library itself: a new delegation, an approval to remember. */
  take(event: AnyEvent): void;
}
