'use client';

import { useCallback, useState } from 'react';
import { getOpenIdToken, type OpenIdToken } from '../core/open-id-token.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { OracleError } from '../core/oracle-error.ts';
import type { Memory } from '../core/wire.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useAgent } from './use-agent.ts';
import { useLoad } from './use-load.ts';

export interface MemoryEngineResult {
  /** What the agent remembers of the user; after a search, what fits it. */
  memories: Memory[];
  isLoading: boolean;
  /** `NOT_FOUND` where the agent has no memory. */
  error: OracleError | undefined;
  hasMore: boolean;
  loadMore: () => Promise<void>;
  search: (query: string) => void;
  addMemory: (text: string, kind?: Memory['kind']) => Promise<Memory>;
  deleteMemory: (id: string) => Promise<void>;
  refetch: () => Promise<void>;
  /** @deprecated The memory is the agent's own and needs no room. */
  enableMemoryEngine: (roomId?: string) => Promise<void>;
  /** @deprecated Use `isLoading`. */
  isLoadingMemoryEngine: boolean;
  /** @deprecated The memory is the agent's own and needs no room. */
  inviteUser: (userId?: string) => Promise<void>;
  /** @deprecated The memory is the agent's own and needs no room. */
  isInvitingUser: boolean;
  /** @deprecated The memory is the agent's own and needs no room. */
  oracleRoomId: string | null;
  /** @deprecated The memory is the agent's own and needs no room. */
  isLoadingOracleRoomId: boolean;
  /** @deprecated The memory is the agent's own and needs no room. */
  members: string[];
  /** @deprecated The memory is the agent's own and needs no room. */
  isLoadingMembers: boolean;
}

const roomless = {
  enableMemoryEngine: async () => {},
  inviteUser: async () => {},
  isInvitingUser: false,
  oracleRoomId: null,
  isLoadingOracleRoomId: false,
  members: [] as string[],
  isLoadingMembers: false,
};

const pageSize = 20;

/** The agent's persistent memory of the user. */
export function useMemoryEngine(oracleDid?: string, options: { overrides?: ConfigOverrides } = {}): MemoryEngineResult {
  const { agent, error: configError, whenReady } = useAgent(oracleDid, options.overrides);
  const [query, setQuery] = useState('');
  const { data, error, isLoading, reload, update } = useLoad(agent && `memory ${agent.key} ${query}`, async () => {
    const { memories, total } = await (await whenReady()).api.listMemories({ query, limit: pageSize });
    return { memories, total };
  });
  const memories = data?.memories ?? [];

  return {
    ...roomless,
    isLoadingMemoryEngine: isLoading,
    memories,
    isLoading: isLoading || (!agent && !configError),
    error: configError ?? error,
    hasMore: memories.length < (data?.total ?? 0),
    search: setQuery,
    async loadMore() {
      const page = await (await whenReady()).api.listMemories({ query, limit: pageSize, offset: memories.length });
      update((known) => ({ memories: [...known.memories, ...page.memories], total: page.total }));
    },
    addMemory: useCallback(
      async (text, kind) => {
        const memory = await (await whenReady()).api.addMemory({ text, ...(kind && { kind }) });
        await reload();
        return memory;
      },
      [whenReady, reload],
    ),
    deleteMemory: useCallback(
      async (id) => {
        await (await whenReady()).api.deleteMemory(id);
        await reload();
      },
      [whenReady, reload],
    ),
    refetch: useCallback(async () => void (await reload()), [reload]),
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

export interface UseModelsResult {
  models: ModelInfo[];
  defaultModelId: string | undefined;
  defaultModel: ModelInfo | undefined;
  isLoading: boolean;
  error: OracleError | undefined;
  refetch: () => void;
}

interface ModelList {
  models: Partial<ModelInfo>[];
  default: string;
}

/** The models that a message to an agent may choose from. */
export function useModels(oracleDid?: string, overrides?: ConfigOverrides): UseModelsResult {
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

export interface OpenIdTokenResult {
  openIdToken: OpenIdToken | undefined;
  isLoading: boolean;
  error: OracleError | undefined;
  /** A token in force: the one there is, or a new one when it is about to expire. */
  getToken: () => Promise<OpenIdToken>;
  /** @deprecated Use `getToken`. */
  refetch: () => Promise<OpenIdToken | undefined>;
}

/** A Matrix OpenID token of the connected user. */
export function useGetOpenIdToken(): OpenIdTokenResult {
  const { matrix } = useOraclesContext().wallet;
  const key = matrix.homeServer && matrix.accessToken ? `${matrix.homeServer} ${matrix.accessToken}` : undefined;
  const { data, isLoading, error } = useLoad(key, () => getOpenIdToken(matrix));
  const getToken = useCallback(() => getOpenIdToken(matrix), [matrix]);
  return { openIdToken: data, isLoading, error, getToken, refetch: getToken };
}
