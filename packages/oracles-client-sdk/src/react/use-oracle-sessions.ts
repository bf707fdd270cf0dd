'use client';

import { useCallback, useEffect, useState } from 'react';
import type { AgentApi } from '../core/agent-api.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { OracleError } from '../core/oracle-error.ts';
import type { Session } from '../core/wire.ts';
import type { IMessage } from './message-content.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useAgent } from './use-agent.ts';
import { useLoad } from './use-load.ts';

export interface OracleSessionsResult {
  /** Newest updated first. */
  sessions: Session[];
  createSession: (session?: { title?: string; metadata?: Record<string, unknown> }) => Promise<Session>;
  /** A new session that shares the conversation up to this message, with this message. */
  forkSession: (sessionId: string, message: Pick<IMessage, 'id' | 'storedId'>) => Promise<Session>;
  renameSession: (sessionId: string, title: string) => Promise<void>;
  deleteSession: (sessionId: string) => Promise<void>;
  isLoading: boolean;
  error: OracleError | undefined;
  hasMore: boolean;
  loadMore: () => Promise<void>;
  refetch: () => Promise<void>;
  total: number;
  isConfigReady: boolean;
  /** @deprecated Use `hasMore`. */
  hasNextPage: boolean;
  /** @deprecated Use `loadMore`. */
  fetchNextPage: () => Promise<void>;
  /** @deprecated Await `loadMore`. */
  isFetchingNextPage: boolean;
  /** @deprecated Await `createSession`. */
  isCreatingSession: boolean;
  /** @deprecated Catch what `createSession` throws. */
  isCreateSessionError: boolean;
  /** @deprecated Await `deleteSession`. */
  isDeletingSession: boolean;
  /** @deprecated Catch what `deleteSession` throws. */
  isDeleteSessionError: boolean;
}

type Work = 'create' | 'rename' | 'delete' | 'page';

export interface OracleSessionsOptions {
  overrides?: ConfigOverrides | undefined;
  /** Sessions per page: 20 by default. */
  limit?: number | undefined;
  /** @deprecated Use `overrides: { baseUrl }`. */
  baseUrl?: string | undefined;
}

const defaultPageSize = 20;

/** The user's chat sessions with an agent. */
export function useOracleSessions(
  oracleDid?: string,
  { limit: pageSize = defaultPageSize, baseUrl, overrides }: OracleSessionsOptions = {},
): OracleSessionsResult {
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
  // A session is named from its first exchange, and the last one used is first.
  const { turns } = useOraclesContext();
  useEffect(() => turns.subscribe(() => void reload()), [turns, reload]);

  const loadMore = useCallback(
    () =>
      follow('page', async () => {
        const page = await (await whenReady()).api.listSessions({ limit: pageSize, offset: count });
        update(({ sessions: known }) => {
          const ids = new Set(known.map(({ sessionId }) => sessionId));
          // A session that moved up meanwhile may be on two pages.
          return {
            sessions: [...known, ...page.sessions.filter(({ sessionId }) => !ids.has(sessionId))],
            total: page.total,
          };
        });
      }),
    [follow, whenReady, update, pageSize, count],
  );
  const add = useCallback(
    (create: (api: AgentApi) => Promise<Session>) =>
      follow('create', async () => {
        const created = await create((await whenReady()).api);
        update(({ sessions: known, total }) => ({ sessions: [created, ...known], total: total + 1 }));
        return created;
      }),
    [follow, whenReady, update],
  );
  const hasMore = count < (data?.total ?? 0);

  return {
    sessions,
    isLoading: isLoading || (!agent && !configError),
    error: configError ?? error,
    hasMore,
    loadMore,
    total: data?.total ?? 0,
    isConfigReady: agent !== undefined,
    hasNextPage: hasMore,
    fetchNextPage: loadMore,
    isFetchingNextPage: pending === 'page',
    isCreatingSession: pending === 'create',
    isCreateSessionError: failed === 'create',
    isDeletingSession: pending === 'delete',
    isDeleteSessionError: failed === 'delete',
    createSession: useCallback((session = {}) => add(({ createSession }) => createSession(session)), [add]),
    forkSession: useCallback(
      (sessionId, { id, storedId = id }) => add(({ forkSession }) => forkSession(sessionId, storedId)),
      [add],
    ),
    renameSession: useCallback(
      (sessionId, title) =>
        follow('rename', async () => {
          const renamed = await (await whenReady()).api.renameSession(sessionId, title);
          update(({ sessions: known, total }) => ({
            sessions: known.map((session) => (session.sessionId === sessionId ? renamed : session)),
            total,
          }));
        }),
      [follow, whenReady, update],
    ),
    deleteSession: useCallback(
      (sessionId) =>
        follow('delete', async () => {
          await (await whenReady()).api.deleteSession(sessionId);
          update(({ sessions: known, total }) => ({
            sessions: known.filter((session) => session.sessionId !== sessionId),
            total: total - 1,
          }));
        }),
      [follow, whenReady, update],
    ),
    refetch: useCallback(async () => void (await (agent ? reload() : findAgent())), [agent, findAgent, reload]),
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
