import { setTimeout as sleep } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { sampleOf } from './sample.ts';
import { type OfflineReply, planReply, toQuestion } from './script.ts';

/** How the offline model is named and how fast it speaks. */
export type OfflineModelOptions = { modelId: string; wordsPerSecond: number };

/**
 * A language model that needs nothing: it follows plain requests by rule and streams like a real one.
 *
 * @example
 * ```ts
 * import { createOfflineModel } from '@palaver/offline-model';
 *
 * const model = createOfflineModel({ modelId: 'offline', wordsPerSecond: 40 });
 * await model.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'help' }] }] });
 * ```
 */
export function createOfflineModel({ modelId, wordsPerSecond }: OfflineModelOptions): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId,
    supportedUrls: {},
    async doGenerate(options) {
      const reply = plan(options);
      const content: LanguageModelV4Content[] = [];
      if (reply.reasoning) content.push({ type: 'reasoning', text: reply.reasoning });
      if (reply.text) content.push({ type: 'text', text: reply.text });
      content.push(...toToolCalls(reply, options));
      return { content, finishReason: toFinishReason(reply), usage: toUsage(options, reply), warnings: [] };
    },
    async doStream(options) {
      const reply = plan(options);
      const parts = streamParts(reply, options, reply.paced ? wordsPerSecond : undefined);
      // Not by `from`, which some browsers do not have.
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        async pull(controller) {
          const { value, done } = await parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          await parts.return(undefined);
        },
      });
      return { stream };
    },
  };
}

function plan(options: LanguageModelV4CallOptions): OfflineReply {
  const { tools = [], toolChoice, responseFormat } = options;
  const question = toQuestion(options);
  const reply = planReply(question);
  if (reply.toolCalls.length > 0) return reply;
  const isAsked = toolChoice?.type === 'required' || toolChoice?.type === 'tool';
  const wanted = tools.find(
    ({ name }) =>
      (toolChoice?.type !== 'tool' || toolChoice.toolName === name) &&
      question.results.every((result) => result.name !== name),
  );
  if (isAsked && wanted?.type === 'function') {
    const args = sampleOf(wanted.inputSchema as Record<string, unknown>, question.user) as Record<string, unknown>;
    return { text: '', toolCalls: [{ name: wanted.name, args }] };
  }
  if (responseFormat?.type !== 'json') return reply;
  const { schema = { type: 'object' } } = responseFormat;
  return { ...reply, text: JSON.stringify(sampleOf(schema as Record<string, unknown>, question.user)) };
}

type Parts = AsyncGenerator<LanguageModelV4StreamPart, undefined>;

async function* streamParts(reply: OfflineReply, options: LanguageModelV4CallOptions, wordsPerSecond?: number): Parts {
  const { abortSignal } = options;
  yield { type: 'stream-start', warnings: [] };
  if (reply.reasoning) {
    yield { type: 'reasoning-start', id: 'r' };
    for (const delta of toWords(reply.reasoning)) yield { type: 'reasoning-delta', id: 'r', delta };
    yield { type: 'reasoning-end', id: 'r' };
  }
  if (reply.text) {
    yield { type: 'text-start', id: 't' };
    // Against the clock of the whole answer, so that the speed holds however long single waits take.
    const startedAt = performance.now();
    let words = 0;
    for (const delta of toWords(reply.text)) {
      if (wordsPerSecond !== undefined) {
        const early = startedAt + (words * 1000) / wordsPerSecond - performance.now();
        if (early > 0) await sleep(early, undefined, { signal: abortSignal });
      }
      abortSignal?.throwIfAborted();
      words += 1;
      yield { type: 'text-delta', id: 't', delta };
    }
    yield { type: 'text-end', id: 't' };
  }
  for (const call of toToolCalls(reply, options)) yield call;
  yield { type: 'finish', finishReason: toFinishReason(reply), usage: toUsage(options, reply) };
  return undefined;
}

const toWords = (text: string): string[] => text.match(/\S+\s*|\s+/g) ?? [];

function toToolCalls({ toolCalls }: OfflineReply, { prompt }: LanguageModelV4CallOptions) {
  return toolCalls.map(({ name, args }, index) => ({
    type: 'tool-call' as const,
    toolCallId: `call-${prompt.length}-${index + 1}`,
    toolName: name,
    input: JSON.stringify(args),
  }));
}

function toFinishReason({ toolCalls }: OfflineReply): { unified: 'stop' | 'tool-calls'; raw: string | undefined } {
  return { unified: toolCalls.length > 0 ? 'tool-calls' : 'stop', raw: undefined };
}

/** Words are counted instead of tokens. */
function toUsage({ prompt }: LanguageModelV4CallOptions, reply: OfflineReply): LanguageModelV4Usage {
  const total = toWords(JSON.stringify(prompt)).length;
  const [text, reasoning] = [toWords(reply.text).length, toWords(reply.reasoning ?? '').length];
  return {
    inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: text + reasoning, text, reasoning },
  };
}
