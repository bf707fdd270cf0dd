import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { DirectCall } from '../define/agent-run.ts';
import { createScriptedModel, type ScriptedReply } from '../models/scripted-model.ts';

/** In place of a language model where the caller names the tool: it asks for that call, and its result is the answer. */
export function createDirectModel(call: DirectCall): LanguageModelV4 {
  const step = ({ prompt }: LanguageModelV4CallOptions) => toReply(call, prompt);
  return createScriptedModel([step, step], 'direct');
}

function toReply(call: DirectCall, prompt: LanguageModelV4CallOptions['prompt']): ScriptedReply {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const last = prompt.at(-1);
  const result = last?.role === 'tool' ? last.content.find((part) => part.type === 'tool-result') : undefined;
  // By the prompt, not by a count: the run may continue on another instance after the call.
  if (!result) return { toolCalls: [call], usage };
  const value = 'value' in result.output ? result.output.value : null;
  return { text: typeof value === 'string' && value !== '' ? value : JSON.stringify(value), usage };
}
