'use client';

import { useCallback } from 'react';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { OracleError } from '../core/oracle-error.ts';
import { useAgent } from './use-agent.ts';
import { useLoad } from './use-load.ts';

/** A model that a message may choose. Beside `id` and the names, agents say as much as they know. */
export interface ModelInfo {
  /** For `model` of `useChat` and `sendMessage`. */
  id: string;
  name: string;
  /** The same as `name`. */
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
