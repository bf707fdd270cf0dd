import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4ToolChoice } from '@ai-sdk/provider';
import { type ZodType, z } from 'zod';
import type { Awaitable } from '../plugins/awaitable.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import { TurnError } from '../run/stream-error.ts';

/**
 * What is passed to the model with every call of the main agent.
 *
 * @example
 * ```ts
 * import type { CallSettings } from '@palaver/agent';
 *
 * export const careful: CallSettings = { temperature: 0, maxOutputTokens: 800, toolChoice: { type: 'auto' } };
 * ```
 */
export interface CallSettings
  extends Pick<
    LanguageModelV4CallOptions,
    'maxOutputTokens' | 'temperature' | 'topP' | 'topK' | 'stopSequences' | 'seed' | 'providerOptions'
  > {
  /** For the first step of a turn; later steps are free, so that a turn can end. */
  toolChoice?: LanguageModelV4ToolChoice;
}

/**
 * How the main agent answers, in addition to its plugins.
 *
 * @example
 * ```ts
 * import { createOracleApp } from '@palaver/agent';
 *
 * await createOracleApp({ instructions: 'You advise farmers.', maxSteps: 6, callSettings: { temperature: 0 } });
 * ```
 */
export interface AgentBehaviour {
  /**
   * What the agent is for and how it behaves: a text, or a function that is asked before every step.
   *
   * @example
   * ```ts
   * import { createOracleApp } from '@palaver/agent';
   *
   * await createOracleApp({ instructions: ({ user }) => `You advise farmers. It is ${user.currentTime}.` });
   * ```
   */
  instructions?: string | ((rt: RuntimeContext) => Awaitable<string>);
  /** A model of the AI SDK in place of `LLM_PROVIDER`, or a function that picks one for a turn. */
  model?: LanguageModelV4 | ((rt: RuntimeContext) => Awaitable<LanguageModelV4>);
  callSettings?: CallSettings;
  /** How many steps with tools a turn may have (12); then the model answers once more without them. */
  maxSteps?: number;
  /** The form of every answer: the model is asked for JSON, and an answer of another form fails the turn. */
  output?: ZodType;
}

export const defaultMaxSteps = 12;

/** The options of a model call that follow from it. */
export function toCallOptions({ callSettings = {}, output }: AgentBehaviour) {
  const { toolChoice, ...settings } = callSettings;
  const schema = output && (z.toJSONSchema(output, { io: 'output' }) as Record<string, unknown>);
  return {
    firstToolChoice: toolChoice,
    settings: { ...settings, ...(schema && { responseFormat: { type: 'json' as const, schema } }) },
  };
}

/** Throws where an answer does not have the form that was asked for. */
export function checkOutput(output: ZodType, text: string): void {
  const options = { kind: 'model', retryable: true } as const;
  try {
    if (output.safeParse(JSON.parse(text)).success) return;
  } catch (cause) {
    throw new TurnError('MODEL_FAILED', 'The language model did not answer with JSON.', {
      ...options,
      cause,
    });
  }
  throw new TurnError('MODEL_FAILED', 'The language model did not answer in the requested form.', options);
}
