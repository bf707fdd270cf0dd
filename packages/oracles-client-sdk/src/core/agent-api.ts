import type { Claim, CreditTerms } from './contract-messages.ts';
import { OracleError } from './oracle-error.ts';
import { toQuery } from './to-query.ts';
import type { Transport } from './transport.ts';
import type { Approval, Memory, MemoryList, MessagePage, Session, SessionList } from './wire.ts';

export interface LiveRun {
  runId: string;
  status: 'queued' | 'running' | 'waiting';
}

export interface CallTicket {
  callId: string;
  url: string;
  token: string;
  encryptionKey: string;
  roomName: string;
}

export type AgentApi = ReturnType<typeof createAgentApi>;

export function createAgentApi({ json }: Transport) {
  return {
    listSessions: (page: { limit?: number; offset?: number } = {}) => json<SessionList>(`/sessions${toQuery(page)}`),
    createSession: (body: { title?: string; metadata?: Record<string, unknown> } = {}) =>
      json<Session>('/sessions', { method: 'POST', body }),
    forkSession: (sessionId: string, messageId: string) =>
      json<Session>(`/sessions/${encodeURIComponent(sessionId)}/fork`, { method: 'POST', body: { messageId } }),
    renameSession: (sessionId: string, title: string) =>
      json<Session>(`/sessions/${encodeURIComponent(sessionId)}`, { method: 'PATCH', body: { title } }),
    deleteSession: (sessionId: string) =>
      json<{ ok: true; sessionId: string }>(`/sessions/${encodeURIComponent(sessionId)}`, { method: 'DELETE' }),

    async listMessages(
      sessionId: string,
      page: { limit?: number; before?: string } = {},
      signal?: AbortSignal,
    ): Promise<MessagePage> {
      const id = encodeURIComponent(sessionId);
      const paged = await orMissing(json<MessagePage>(`/sessions/${id}/messages${toQuery(page)}`, { signal }));
      if (paged) return paged;
      const { messages } = await json<Pick<MessagePage, 'messages'>>(`/messages/${id}`, { signal });
      return { messages, prevCursor: null, nextCursor: null, hasOlder: false, hasNewer: false };
    },
    async findLiveRun(sessionId: string, signal?: AbortSignal): Promise<LiveRun | null> {
      const id = encodeURIComponent(sessionId);
      const found = await orMissing(json<{ run: LiveRun | null }>(`/sessions/${id}/run`, { signal }));
      return found?.run ?? null;
    },
    /** With a run's id, that run alone is stopped. */
    abort: (sessionId: string, runId?: string) =>
      json<{ ok: true; aborted: boolean }>('/messages/abort', { method: 'POST', body: { sessionId, runId } }),

    answerApproval: (
      runId: string,
      approvalId: string,
      body: { approved: boolean; reason?: string | undefined; invocation?: string | undefined },
    ) =>
      json<{ approval: Approval }>(`/runs/${encodeURIComponent(runId)}/approvals/${encodeURIComponent(approvalId)}`, {
        method: 'POST',
        body,
      }),

    storeDelegation: (raw: string) =>
      json<{ ok: true; expiration?: number }>('/delegation', { method: 'POST', body: { raw } }),

    /** The open claims; undefined for agents that take no payments. */
    async listClaims(): Promise<Claim[] | undefined> {
      return (await orMissing(json<{ claims: Claim[] }>('/credits')))?.claims;
    },

    /** The price of credit; undefined for agents that are not paid on the chain. */
    readTerms: () => orMissing(json<CreditTerms>('/credits/terms')),

    listMemories: (query: { query?: string; limit?: number; offset?: number } = {}) =>
      json<MemoryList>(`/memory${toQuery(query)}`),
    addMemory: (memory: { text: string; kind?: Memory['kind'] }) =>
      json<Memory>('/memory', { method: 'POST', body: memory }),
    deleteMemory: (id: string) => json<{ ok: true }>(`/memory/${encodeURIComponent(id)}`, { method: 'DELETE' }),

    startCall: (sessionId: string) => json<CallTicket>('/calls', { method: 'POST', body: { sessionId } }),
    endCall: (callId: string) => json<{ ok: true }>(`/calls/${encodeURIComponent(callId)}`, { method: 'DELETE' }),
  };
}

/** History pages, live runs and credits are extensions: agents of the same interface may have no such route. */
async function orMissing<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    const isMissing = error instanceof OracleError && error.status === 404 && error.code !== 'SESSION_NOT_FOUND';
    if (isMissing) return undefined;
    throw error;
  }
}
