import type { LanguageModelV4Prompt } from '@ai-sdk/provider';

const bytesPerToken = 4;

/**
 * A rough count, good enough to stay well within a model's context. By bytes, which is fairer to scripts beyond Latin.
 *
 * @example
 * ```ts
 * import { estimateTokens, type Middleware } from '@palaver/agent';
 *
 * export const frugal: Middleware = {
 *   beforeModel: (call) => (estimateTokens(call.prompt) > 50_000 ? { ...call, modelId: 'large' } : undefined),
 * };
 * ```
 */
export function estimateTokens(value: string | LanguageModelV4Prompt): number {
  // Files are not counted: providers count an image by its size in pixels, not by its bytes.
  const text =
    typeof value === 'string' ? value : JSON.stringify(value, (key, part) => (key === 'data' ? undefined : part));
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}
