import type { ServerEventName, ServerEventPayload, SseEvent } from '@palaver/contract';
import type { RefusedDelegation } from '../auth/open-connections.ts';
import type { ToolCallRequest } from '../define/middleware.ts';
import type { Broadcast } from './broadcast.ts';

export interface BrowserCall extends ToolCallRequest {
  event: 'browser_tool_call' | 'action_call';
  sessionId: string;
  requestId: string;
  userDid: string;
  socketId?: string | undefined;
  signal: AbortSignal;
}

export interface SessionClients {
  notify<Name extends ServerEventName>(sessionId: string, name: Name, payload: ServerEventPayload[Name]): void;
  deliver(call: BrowserCall): Promise<boolean>;
  drop(sessionId: string): void;
  /** Disconnects the clients that a delegation had signed in which no longer signs in, on every instance. */
  dropDelegation(delegation: RefusedDelegation): void;
}

export function createSessionClients(broadcast: Broadcast): SessionClients & { attach(clients: SessionClients): void } {
  let attached: SessionClients | undefined;
  broadcast.onMessage((message) => {
    if (message.kind === 'drop') attached?.drop(message.sessionId);
    if (message.kind === 'refused') attached?.dropDelegation(message);
  });
  return {
    /** A door that keeps connections attaches them here; before that nobody is connected. */
    attach(clients) {
      attached = clients;
    },
    notify: (sessionId, name, payload) => attached?.notify(sessionId, name, payload),
    deliver: async (call) => (await attached?.deliver(call)) ?? false,
    drop: (sessionId) => attached?.drop(sessionId),
    dropDelegation({ did, cid, standing }) {
      attached?.dropDelegation({ did, cid, standing });
      broadcast.publish({ kind: 'refused', did, cid, standing });
    },
  };
}

export function showEvent(clients: Pick<SessionClients, 'notify'>, sessionId: string, { name, data }: SseEvent): void {
  if (name === 'run') clients.notify(sessionId, 'message_cache_invalidation', { sessionId });
  switch (name) {
    case 'tool_call':
    case 'approval_request':
    case 'render_component':
    case 'router_update':
      clients.notify(sessionId, name, data as never);
  }
}
