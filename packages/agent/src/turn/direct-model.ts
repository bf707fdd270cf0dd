import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { DirectCall } from '../define/agent-run.ts';

/** In place of a language model where the caller names the tool: it asks for that call, and its result is the answer. */
export function createDirectModel(call: DirectCall): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'direct',
    modelId: 'direct',
    supportedUrls: {},
    async doStream({ prompt }) {
      const parts = toParts(call, prompt);
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
    doGenerate: () => Promise.reject(new Error('a direct call is streamed')),
  };
}

const noTokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
const usage = { inputTokens: noTokens, outputTokens: { total: 0, text: 0, reasoning: 0 } };

function toParts(
  { name: toolName, args }: DirectCall,
  prompt: LanguageModelV4CallOptions['prompt'],
): LanguageModelV4StreamPart[] {
  const last = prompt.at(-1);
  const result = last?.role === 'tool' ? last.content.find((part) => part.type === 'tool-result') : undefined;
  if (!result) {
    const finishReason = { unified: 'tool-calls' as const, raw: undefined };
    return [
      { type: 'tool-call', toolCallId: 'direct', toolName, input: JSON.stringify(args) },
      { type: 'finish', finishReason, usage },
    ];
  }
  const value = 'value' in result.output ? result.output.value : null;
  const delta = typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
  return [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta },
    { type: 'text-end', id: 't' },
    { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
  ];
}
