import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { type Attributes, SpanKind } from '@opentelemetry/api';
import {
  defineOraclePlugin,
  type Middleware,
  type ModelResult,
  type Models,
  type OraclePlugin,
  type RuntimeContext,
} from '@palaver/agent';
import { envBoolean } from '@palaver/service-kit';
import { inSpan } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { toManifest } from '../plugin-parts.ts';

const configSchema = z.object({
  OTEL_CAPTURE_CONTENT: envBoolean().prefault('false').meta({
    description: 'Put prompts, answers, and arguments and results of tools into the spans. They are personal data.',
  }),
});

export function createTelemetryPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'telemetry',
    version: '1.0.0',
    manifest: toManifest('Telemetry', 'Records OpenTelemetry spans.', { stability: 'beta' }),
    configSchema,
    autoDetect: (env) => envBoolean().safeParse(env.OTEL_ENABLED).data === true,
    autoDetectHint: 'set OTEL_ENABLED=true',
    getMiddlewares: ({ config, models, oracle }) => [
      createSpans({ models, agent: oracle, hasContent: config.OTEL_CAPTURE_CONTENT }),
    ],
  });
}

type SpanParts = { models: Models; agent: { did: string; name: string }; hasContent: boolean };

function createSpans({ models, agent, hasContent }: SpanParts): Middleware {
  const content = (read: () => Attributes) => (hasContent ? read() : {});
  // `session` is the same object in all contexts of a turn, those of its tools included.
  const used = new WeakMap<RuntimeContext['session'], ModelResult['usage']>();

  return {
    wrapTurn(next, { session, abortSignal: signal }) {
      const usage = { inputTokens: 0, outputTokens: 0 };
      used.set(session, usage);
      const attributes = {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': toProvider(models, models.list.default),
        'gen_ai.agent.id': agent.did,
        'gen_ai.agent.name': agent.name,
        'gen_ai.conversation.id': session.id,
        'palaver.run.id': session.runId,
      };
      return inSpan(`invoke_agent ${agent.name}`, { attributes, signal }, async (span) => {
        await next();
        span.setAttributes(toUsage(usage));
      });
    },

    wrapModelCall(call, next, { session, abortSignal: signal }) {
      const attributes = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': toProvider(models, call.modelId),
        'gen_ai.request.model': call.modelId,
        'gen_ai.conversation.id': session.id,
        ...content(() => ({ 'gen_ai.input.messages': JSON.stringify(call.prompt.map(toShownMessage)) })),
      };
      return inSpan(`chat ${call.modelId}`, { kind: SpanKind.CLIENT, attributes, signal }, async (span) => {
        const result = await next(call);
        const usage = used.get(session);
        if (usage) {
          usage.inputTokens += result.usage.inputTokens;
          usage.outputTokens += result.usage.outputTokens;
        }
        span.setAttributes({
          ...toUsage(result.usage),
          'gen_ai.response.finish_reasons': [toFinishReason(result)],
          ...content(() => toContentOfResult(result, toFinishReason(result))),
        });
        return result;
      });
    },

    wrapToolCall(call, next, { abortSignal: signal }) {
      const attributes = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': call.toolName,
        'gen_ai.tool.call.id': call.toolCallId,
        'gen_ai.tool.type': 'function',
        ...content(() => ({ 'gen_ai.tool.call.arguments': JSON.stringify(call.args) })),
      };
      return inSpan(`execute_tool ${call.toolName}`, { attributes, signal }, async (span) => {
        const output = await next(call);
        span.setAttributes(content(() => ({ 'gen_ai.tool.call.result': JSON.stringify(output) ?? 'null' })));
        return output;
      });
    },
  };
}

function toUsage({ inputTokens, outputTokens }: ModelResult['usage']): Attributes {
  return { 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens };
}

function toFinishReason({ finish, toolCalls }: ModelResult): string {
  return finish ?? (toolCalls.length > 0 ? 'tool_call' : 'stop');
}

/** `openai` of `openai.responses`. A model that the application picks for a turn is on no list. */
function toProvider(models: Models, modelId: string): string {
  try {
    return models.resolve(modelId).provider.split('.')[0] ?? '_OTHER';
  } catch {
    return '_OTHER';
  }
}

function toContentOfResult({ text, toolCalls }: ModelResult, finishReason: string): Attributes {
  const parts = [
    ...(text === '' ? [] : [{ type: 'text', content: text }]),
    ...toolCalls.map(({ id, name, args }) => ({ type: 'tool_call', id, name, arguments: args })),
  ];
  return { 'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts, finish_reason: finishReason }]) };
}

type PromptMessage = LanguageModelV4Prompt[number];

/** A message of a prompt by the conventions of OpenTelemetry. */
export function toShownMessage({ role, content }: PromptMessage) {
  return { role, parts: typeof content === 'string' ? [{ type: 'text', content }] : content.map(toPart) };
}

function toPart(part: Exclude<PromptMessage['content'], string>[number]) {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text };
    case 'tool-call':
      return { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input };
    case 'tool-result':
      return { type: 'tool_call_response', id: part.toolCallId, response: part.output };
    default:
      // Files would make spans of megabytes.
      return { type: part.type };
  }
}
