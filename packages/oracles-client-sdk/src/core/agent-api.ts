import type { Transport } from './transport.ts';
import type { Memory, MemoryList, MessagePage, Session, SessionList } from './wire.ts';

export interface LiveRun {
  runId: string;
  status: 'queued' | 'running';
}

/** One call to LiveKit, as the agent arranges it. */
export interface CallTicket {
  callId: string;
  url: string;
  token: string;
  encryptionKey: string;
  roomName: string;
}

export type AgentApi = ReturnType<typeof createAgentApi>;

/** The agent's routes as functions. */
export function createAgentApi({ json }: Transport) {
  return {
    listSessions: (page: { limit?: number; offset?: number } = {}) => json<SessionList>(`/sessions${toQuery(page)}`),
    createSession: (body: { title?: string; metadata?: Record<string, unknown> } = {}) =>
      json<Session>('/sessions', { method: 'POST', body }),
    deleteSession: (sessionId: string) =>
      json<{ ok: true; sessionId: string }>(`/sessions/${encodeURIComponent(sessionId)}`, { method: 'DELETE' }),

    listMessages: (sessionId: string, page: { limit?: number; before?: string } = {}, signal?: AbortSignal) =>
      json<MessagePage>(`/sessions/${encodeURIComponent(sessionId)}/messages${toQuery(page)}`, { signal }),
    findLiveRun: async (sessionId: string, signal?: AbortSignal) =>
      (await json<{ run: LiveRun | null }>(`/sessions/${encodeURIComponent(sessionId)}/run`, { signal })).run,
    abort: (sessionId: string) =>
      json<{ ok: true; aborted: boolean }>('/messages/abort', { method: 'POST', body: { sessionId } }),

    storeDelegation: (raw: string) =>
      json<{ ok: true; expiration?: number }>('/delegation', { method: 'POST', body: { raw } }),

    listMemories: (query: { query?: string; limit?: number; offset?: number } = {}) =>
      json<MemoryList>(`/memory${toQuery(query)}`),
    addMemory: (memory: { text: string; kind?: Memory['kind'] }) =>
      json<Memory>('/memory', { method: 'POST', body: memory }),
    deleteMemory: (id: string) => json<{ ok: true }>(`/memory/${encodeURIComponent(id)}`, { method: 'DELETE' }),

    startCall: (sessionId: string) => json<CallTicket>('/calls', { method: 'POST', body: { sessionId } }),
    endCall: (callId: string) => json<{ ok: true }>(`/calls/${encodeURIComponent(callId)}`, { method: 'DELETE' }),
  };
}

function toQuery(values: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== '') query.set(name, `${value}`);
  return query.size > 0 ? `?${query}` : '';
}
