import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { AppError, type ModelList } from '@palaver/contract';
import type { AgentConfig } from '../config.ts';
import { createOfflineModel } from './offline-model.ts';

export type ModelRole = 'main' | 'utility' | 'subagent';

/** The language models of this deployment. */
export interface Models {
  list: ModelList;
  get(role: ModelRole): LanguageModelV4;
  /** One of the list by its id; the default where none is asked for. */
  choose(id: string | undefined): LanguageModelV4;
}

type ModelConfig = Pick<
  AgentConfig,
  | 'LLM_PROVIDER'
  | 'LLM_BASE_URL'
  | 'LLM_API_KEY'
  | 'LLM_MODEL'
  | 'LLM_MODELS'
  | 'LLM_UTILITY_MODEL'
  | 'LLM_SUBAGENT_MODEL'
  | 'OFFLINE_WORDS_PER_SECOND'
>;

const openRouterUrl = 'https://openrouter.ai/api/v1';
const defaultModels: Partial<Record<ModelConfig['LLM_PROVIDER'], string>> = {
  openai: 'gpt-5-mini',
  anthropic: 'claude-sonnet-4-5',
  openrouter: 'openrouter/auto',
};

export function createModels(config: ModelConfig): Models {
  const create = createFactory(config);
  const fallback = config.LLM_BASE_URL === undefined ? 'offline' : 'default';
  const main = config.LLM_MODEL ?? config.LLM_MODELS[0] ?? defaultModels[config.LLM_PROVIDER] ?? fallback;
  const ids = [...new Set([main, ...config.LLM_MODELS])];
  const made = new Map<string, LanguageModelV4>();
  const model = (id: string): LanguageModelV4 => {
    const known = made.get(id) ?? create(id);
    made.set(id, known);
    return known;
  };
  const roles: Record<ModelRole, string> = {
    main,
    utility: config.LLM_UTILITY_MODEL ?? main,
    subagent: config.LLM_SUBAGENT_MODEL ?? main,
  };
  return {
    list: { models: ids.map((id) => ({ id, name: id })), default: main },
    get: (role) => model(roles[role]),
    choose(id = main) {
      if (ids.includes(id)) return model(id);
      throw new AppError('MODEL_UNKNOWN', `There is no model "${id}" here; GET /models lists those there are.`);
    },
  };
}

function createFactory(config: ModelConfig): (id: string) => LanguageModelV4 {
  const { LLM_PROVIDER, LLM_API_KEY: apiKey, LLM_BASE_URL: baseURL } = config;
  // Whatever speaks OpenAI's protocol at an address of its own; the name only shows in logs.
  if (baseURL !== undefined && LLM_PROVIDER !== 'anthropic') {
    return createOpenAICompatible({ name: 'compatible', baseURL, includeUsage: true, ...(apiKey && { apiKey }) });
  }
  switch (LLM_PROVIDER) {
    case 'openai':
      return createOpenAI({ ...(apiKey && { apiKey }) });
    case 'anthropic':
      return createAnthropic({ ...(apiKey && { apiKey }), ...(baseURL && { baseURL }) });
    case 'openrouter':
      return createOpenAICompatible({ name: 'openrouter', baseURL: openRouterUrl, includeUsage: true, ...(apiKey && { apiKey }) });
    default:
      return (id) => createOfflineModel({ modelId: id, wordsPerSecond: config.OFFLINE_WORDS_PER_SECOND });
  }
}
