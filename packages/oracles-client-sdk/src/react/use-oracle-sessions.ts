'use client';

import { useCallback, useEffect } from 'react';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { Session } from '../core/wire.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useAgent } from './use-agent.ts';
import { useLoad } from './use-load.ts';

export interface OracleSessionsResult {
  /** Newest updated first. */
  sessions: Session[];
  createSession: (session?: { title?: string; metadata?: Record<string, unknown> }) => Promise<Session>;
  deleteSession: (sessionId: string) => Promise<void>;
  isLoading: boolean;
  error: Error | undefined;
  hasMore: boolean;
  loadMore: () => Promise<void>;
  refetch: () => Promise<void>;
}

const pageSize = 20;

/** The user's chat sessions with an agent. */
export function useOracleSessions(
  oracleDid?: string,
  options: { overrides?: ConfigOverrides } = {},
): OracleSessionsResult {
  const { agent, error: configError } = useAgent(oracleDid, options.overrides);
  const { data, error, isLoading, reload, update } = useLoad(agent && `sessions ${agent.key}`, async () => {
    if (!agent) throw new Error('The agent is not ready yet.');
    const { sessions, total } = await agent.api.listSessions({ limit: pageSize });
    return { sessions, total };
  });
  const ready = useCallback(() => {
    if (!agent) throw configError ?? new Error('The agent is not ready yet.');
    return agent.api;
  }, [agent, configError]);
  const sessions = data?.sessions ?? [];
  // A session is named from its first exchange, and the last one used stands first.
  const { turns } = useOraclesContext();
  useEffect(() => turns.subscribe(() => void reload()), [turns, reload]);

  return {
    sessions,
    isLoading: isLoading || (!agent && !configError),
    error: configError ?? error,
    hasMore: sessions.length < (data?.total ?? 0),
    createSession: useCallback(
      async (session = {}) => {
        const created = await ready().createSession(session);
        update(({ sessions: known, total }) => ({ sessions: [created, ...known], total: total + 1 }));
        return created;
      },
      [ready, update],
    ),
    deleteSession: useCallback(
      async (sessionId) => {
        await ready().deleteSession(sessionId);
        update(({ sessions: known, total }) => ({
          sessions: known.filter((session) => session.sessionId !== sessionId),
          total: total - 1,
        }));
      },
      [ready, update],
    ),
    async loadMore() {
      const page = await ready().listSessions({ limit: pageSize, offset: sessions.length });
      update(({ sessions: known }) => {
        const ids = new Set(known.map(({ sessionId }) => sessionId));
        // A session that moved up meanwhile may be on two pages.
        return {
          sessions: [...known, ...page.sessions.filter(({ sessionId }) => !ids.has(sessionId))],
          total: page.total,
        };
      });
    },
    refetch: useCallback(async () => void (await reload()), [reload]),
  };
}
