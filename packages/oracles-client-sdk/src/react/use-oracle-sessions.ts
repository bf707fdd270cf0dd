'use client';

import { useCallback, useEffect, useMemo, useState } from 'react';
import type { AgentApi } from '../core/agent-api.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { Session } from '../core/wire.ts';
import type { IMessage } from './message-content.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useAgent } from './use-agent.ts';
import { useLoad } from './use-load.ts';

type Work = 'create' | 'rename' | 'delete' | 'page';

export interface OracleSessionsOptions {
  overrides?: ConfigOverrides | undefined;
  /** Sessions per page: 20 by default. */
  limit?: number | undefined;
  /** @deprecated Use `overrides: { baseUrl }`. */
  baseUrl?: string | undefined;
}

export type OracleSessionsResult = ReturnType<typeof useOracleSessions>;

const defaultPageSize = 20;

/** The user's chat sessions with an agent. */
export function useOracleSessions(
  oracleDid?: string,
  { limit: pageSize = defaultPageSize, baseUrl, overrides }: OracleSessionsOptions = {},
) {
  const given = overrides ?? (baseUrl ? { baseUrl } : undefined);
  const { agent, error: configError, refetch: findAgent, whenReady } = useAgent(oracleDid, given);
  const { pending, failed, follow } = useFollowed<Work>();
  const { data, error, isLoading, reload, update } = useLoad(agent && `sessions ${agent.key}`, async () => {
    const { api } = await whenReady();
    const { sessions, total } = await api.listSessions({ limit: pageSize });
    return { sessions, total };
  });
  const sessions = data?.sessions ?? [];
  const count = sessions.length;
  const total = data?.total ?? 0;
  // A session is named from its first exchange, and the last one used is first.
  const { turns } = useOraclesContext();
  useEffect(() => turns.subscribe(() => void reload()), [turns, reload]);

  const act = useCallback(
    <T>(name: Work, work: (api: AgentApi) => Promise<T>) => follow(name, async () => work((await whenReady()).api)),
    [follow, whenReady],
  );
  const loadMore = useCallback(
    () =>
      act('page', async (api) => {
        const page = await api.listSessions({ limit: pageSize, offset: count });
        update(({ sessions: known }) => {
          const ids = new Set(known.map(({ sessionId }) => sessionId));
          // A session that moved up meanwhile may be on two pages.
          const added = page.sessions.filter(({ sessionId }) => !ids.has(sessionId));
          return { sessions: [...known, ...added], total: page.total };
        });
      }),
    [act, update, pageSize, count],
  );
  const changes = useMemo(() => {
    const add = (create: (api: AgentApi) => Promise<Session>) =>
      act('create', async (api) => {
        const created = await create(api);
        update((known) => ({ sessions: [created, ...known.sessions], total: known.total + 1 }));
        return created;
      });
    return {
      createSession: (session: { title?: string; metadata?: Record<string, unknown> } = {}) =>
        add((api) => api.createSession(session)),
      /** A new session that shares the conversation up to this message, with this message. */
      forkSession: (sessionId: string, { id, storedId = id }: Pick<IMessage, 'id' | 'storedId'>) =>
        add((api) => api.forkSession(sessionId, storedId)),
      renameSession: (sessionId: string, title: string) =>
        act('rename', async (api) => {
          const renamed = await api.renameSession(sessionId, title);
          update((known) => ({
            ...known,
            sessions: known.sessions.map((session) => (session.sessionId === sessionId ? renamed : session)),
          }));
        }),
      deleteSession: (sessionId: string) =>
        act('delete', async (api) => {
          await api.deleteSession(sessionId);
          update((known) => ({
            sessions: known.sessions.filter((session) => session.sessionId !== sessionId),
            total: known.total - 1,
          }));
        }),
    };
  }, [act, update]);

  return {
    ...changes,
    /** Newest updated first. */
    sessions,
    isLoading: isLoading || (!agent && !configError),
    error: configError ?? error,
    hasMore: count < total,
    loadMore,
    refetch: useCallback(async () => void (await (agent ? reload() : findAgent())), [agent, findAgent, reload]),
    total,
    isConfigReady: agent !== undefined,
    /** @deprecated Use `hasMore`. */
    hasNextPage: count < total,
    /** @deprecated Use `loadMore`. */
    fetchNextPage: loadMore,
    /** @deprecated Await `loadMore`. */
    isFetchingNextPage: pending === 'page',
    /** @deprecated Await `createSession`. */
    isCreatingSession: pending === 'create',
    /** @deprecated Catch what `createSession` throws. */
    isCreateSessionError: failed === 'create',
    /** @deprecated Await `deleteSession`. */
    isDeletingSession: pending === 'delete',
    /** @deprecated Catch what `deleteSession` throws. */
    isDeleteSessionError: failed === 'delete',
  };
}

function useFollowed<Name extends string>() {
  const [state, setState] = useState<{ pending?: Name; failed?: Name }>({});
  const follow = useCallback(async <T>(name: Name, work: () => Promise<T>): Promise<T> => {
    setState({ pending: name });
    try {
      const result = await work();
      setState({});
      return result;
    } catch (error) {
      setState({ failed: name });
      throw error;
    }
  }, []);
  return { ...state, follow };
}
