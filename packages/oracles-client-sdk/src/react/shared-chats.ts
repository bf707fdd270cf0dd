import type { Chat } from '../core/chat-interface.ts';
import type { MatrixSession } from '../core/transport.ts';
import type { IChatOptions } from './chat-options.ts';

/** One component that shows a session: its tools and listeners, as of its latest render. */
export interface ChatView {
  readonly current: Omit<IChatOptions, 'oracleDid' | 'sessionId'> & { matrix: MatrixSession };
}

export interface SharedChat {
  readonly chat: Chat;
  /** The chat runs while at least one view has joined; returns the way to leave. */
  join(view: ChatView): () => void;
}

/** Gives the one chat of an agent and a session, however many components show it: one socket, one set of tools. */
export type FindChat = (key: string, create: (views: () => readonly ChatView['current'][]) => Chat) => SharedChat;

export function createSharedChats(): FindChat {
  const known = new Map<string, SharedChat>();
  return (key, create) => {
    const found = known.get(key);
    if (found) return found;
    const views = new Set<ChatView>();
    let stop: (() => void) | undefined;
    const shared: SharedChat = {
      chat: create(() => [...views].map(({ current }) => current)),
      join(view) {
        known.set(key, shared);
        views.add(view);
        stop ??= shared.chat.start();
        return () => {
          views.delete(view);
          if (views.size > 0) return;
          stop?.();
          stop = undefined;
          known.delete(key);
        };
      },
    };
    known.set(key, shared);
    return shared;
  };
}
