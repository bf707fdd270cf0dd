import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { DirectCall } from '../define/agent-run.ts';

/** The output of the model in one step. */
export interface ScriptedReply {
  text?: string;
  reasoning?: string;
  toolCalls?: { name: string; args?: Record<string, unknown> }[];
  usage?: { inputTokens: number; outputTokens: number };
}

/** A reply, or a function that creates one from the input of the model. */
export type ScriptedStep =
  | ScriptedReply
  | ((call: LanguageModelV4CallOptions) => ScriptedReply | Promise<ScriptedReply>);

/** A scripted model and its recorded inputs. */
export interface ScriptedModel extends LanguageModelV4 {
  readonly calls: LanguageModelV4CallOptions[];
  systemPrompts(): string[];
}

/**
 * A language model for tests: it returns the given steps in order and records its prompts.
 *
 * @example
 * ```ts
 * import { createScriptedModel } from '@palaver/agent';
 *
 * export const model = createScriptedModel([{ toolCalls: [{ name: 'count_goats' }] }, { text: 'Twelve.' }]);
 * ```
 */
export function createScriptedModel(steps: ScriptedStep[], modelId = 'scripted'): ScriptedModel {
  const calls: LanguageModelV4CallOptions[] = [];

  async function next(call: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamPart[]> {
    const step = steps[calls.push(call) - 1];
    if (step === undefined) throw new Error(`the script of the model has no step ${calls.length}`);
    return toParts(typeof step === 'function' ? await step(call) : step, calls.length);
  }

  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId,
    supportedUrls: {},
    calls,
    systemPrompts: () =>
      calls.map(({ prompt }) =>
        prompt.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n'),
      ),
    async doStream(call) {
      const parts = await next(call);
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
    async doGenerate(call) {
      const parts = await next(call);
      const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
      const finish = parts.find((part) => part.type === 'finish');
      if (!finish) throw new Error('a scripted reply always has an end');
      const { finishReason, usage } = finish;
      return { content: [{ type: 'text', text }], finishReason, usage, warnings: [] };
    },
  };
}

function toParts(reply: ScriptedReply, step: number): LanguageModelV4StreamPart[] {
  const { text, reasoning, toolCalls = [], usage = { inputTokens: 10, outputTokens: 5 } } = reply;
  const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }];
  if (reasoning) {
    parts.push({ type: 'reasoning-start', id: 'r' }, { type: 'reasoning-delta', id: 'r', delta: reasoning });
    parts.push({ type: 'reasoning-end', id: 'r' });
  }
  if (text) {
    parts.push({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: text });
    parts.push({ type: 'text-end', id: 't' });
  }
  for (const [index, { name, args = {} }] of toolCalls.entries()) {
    const toolCallId = `scripted-${step}-${index + 1}`;
    parts.push({ type: 'tool-call', toolCallId, toolName: name, input: JSON.stringify(args) });
  }
  const { inputTokens, outputTokens } = usage;
  parts.push({
    type: 'finish',
    finishReason: { unified: toolCalls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
    },
  });
  return parts;
}

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
