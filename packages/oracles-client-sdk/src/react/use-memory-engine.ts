'use client';

import { useCallback, useMemo, useState } from 'react';
import type { AgentApi } from '../core/agent-api.ts';
import { getOpenIdToken, type OpenIdToken } from '../core/open-id-token.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { Memory } from '../core/wire.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useAgent } from './use-agent.ts';
import { useLoad } from './use-load.ts';

export type MemoryEngineResult = ReturnType<typeof useMemoryEngine>;

const pageSize = 20;
const noMembers: string[] = [];

/** The agent's persistent memory of the user. */
export function useMemoryEngine(oracleDid?: string, options: { overrides?: ConfigOverrides } = {}) {
  const { agent, error: configError, whenReady } = useAgent(oracleDid, options.overrides);
  const [query, setQuery] = useState('');
  const { data, error, isLoading, reload, update } = useLoad(agent && `memory ${agent.key} ${query}`, async () => {
    const { memories, total } = await (await whenReady()).api.listMemories({ query, limit: pageSize });
    return { memories, total };
  });
  const memories = data?.memories ?? [];
  const changes = useMemo(() => {
    const change = async <T>(work: (api: AgentApi) => Promise<T>) => {
      const result = await work((await whenReady()).api);
      await reload();
      return result;
    };
    return {
      addMemory: (text: string, kind?: Memory['kind']) =>
        change((api) => api.addMemory({ text, ...(kind && { kind }) })),
      deleteMemory: async (id: string) => void (await change((api) => api.deleteMemory(id))),
    };
  }, [whenReady, reload]);

  return {
    ...changes,
    /** What the agent remembers of the user; after a search, what fits it. */
    memories,
    isLoading: isLoading || (!agent && !configError),
    /** `NOT_FOUND` where the agent has no memory. */
    error: configError ?? error,
    hasMore: memories.length < (data?.total ?? 0),
    async loadMore() {
      const page = await (await whenReady()).api.listMemories({ query, limit: pageSize, offset: memories.length });
      update((known) => ({ memories: [...known.memories, ...page.memories], total: page.total }));
    },
    search: setQuery as (query: string) => void,
    refetch: useCallback(async () => void (await reload()), [reload]),
    /** @deprecated The memory is the agent's own and needs no room. */
    enableMemoryEngine: async (_roomId?: string) => {},
    /** @deprecated Use `isLoading`. */
    isLoadingMemoryEngine: isLoading,
    /** @deprecated The memory is the agent's own and needs no room. */
    inviteUser: async (_userId?: string) => {},
    /** @deprecated The memory is the agent's own and needs no room. */
    isInvitingUser: false as boolean,
    /** @deprecated The memory is the agent's own and needs no room. */
    oracleRoomId: null as string | null,
    /** @deprecated The memory is the agent's own and needs no room. */
    isLoadingOracleRoomId: false as boolean,
    /** @deprecated The memory is the agent's own and needs no room. */
    members: noMembers,
    /** @deprecated The memory is the agent's own and needs no room. */
    isLoadingMembers: false as boolean,
  };
}

/** A model that a message may choose. Beside `id` and the names, agents say as much as they know. */
export interface ModelInfo {
  /** For `model` of `useChat` and `sendMessage`. */
  id: string;
  name: string;
  label: string;
  isDefault: boolean;
  family?: string | undefined;
  tier?: string | undefined;
  costLabel?: string | undefined;
  badge?: string | undefined;
  blurb?: string | undefined;
  vision?: boolean | undefined;
}

export type UseModelsResult = ReturnType<typeof useModels>;

interface ModelList {
  models: Partial<ModelInfo>[];
  default: string;
}

/** The models that a message to an agent may choose from. */
export function useModels(oracleDid?: string, overrides?: ConfigOverrides) {
  const { agent, error: configError, whenReady } = useAgent(oracleDid, overrides);
  const { data, error, isLoading, reload } = useLoad(agent && `models ${agent.key}`, async () => {
    const { transport } = await whenReady();
    return toModels(await transport.json<ModelList>('/models'));
  });
  const models = data ?? [];
  const defaultModel = models.find(({ isDefault }) => isDefault);
  return {
    models,
    defaultModel,
    defaultModelId: defaultModel?.id,
    isLoading: isLoading || (!agent && !configError),
    error: configError ?? error,
    refetch: useCallback(() => void reload(), [reload]),
  };
}

function toModels({ models, default: defaultId }: ModelList): ModelInfo[] {
  return models.map((model) => {
    const { id = '' } = model;
    const name = model.name ?? model.label ?? id;
    return { ...model, id, name, label: name, isDefault: id === defaultId };
  });
}

export type OpenIdTokenResult = ReturnType<typeof useGetOpenIdToken>;

/** A Matrix OpenID token of the connected user. */
export function useGetOpenIdToken() {
  const { matrix } = useOraclesContext().wallet;
  const key = matrix.homeServer && matrix.accessToken ? `${matrix.homeServer} ${matrix.accessToken}` : undefined;
  const { data, isLoading, error } = useLoad(key, () => getOpenIdToken(matrix));
  const getToken = useCallback(() => getOpenIdToken(matrix), [matrix]);
  return {
    openIdToken: data,
    isLoading,
    error,
    /** A token in force: the one there is, or a new one when it is about to expire. */
    getToken,
    /** @deprecated Use `getToken`. */
    refetch: getToken as () => Promise<OpenIdToken | undefined>,
  };
}
