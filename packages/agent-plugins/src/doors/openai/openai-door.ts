import type { AgentRun, OraclePlugin, PluginContext } from '@palaver/agent';
import { AppError, type MessageFinish, type ToolCall } from '@palaver/contract';
import { invalid } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { toEvent } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { defineDoor, doorConfig, openRun, toCallerTool } from '../define-door.ts';
import { type Answer, noUsage, type RunUsage, toFailure, translateRun } from '../translate-run.ts';
import {
  chatMessageSchema,
  checkModel,
  createConversation,
  formatSchema,
  openAiErrorSchema,
  openAiReply,
  type RunBase,
  route,
  serveRun,
  toAnswerForm,
  toFiles,
  toOpenAiError,
  toolChoiceSchema,
  toQuestion,
  toText,
} from './openai-run.ts';
import { addResponses } from './responses.ts';

export function createOpenAiDoor(): OraclePlugin {
  return defineDoor({
    name: 'openai',
    title: 'OpenAI',
    toErrorBody: toOpenAiError,
    errorBody: openAiErrorSchema,
    addRoutes(server, ctx) {
      const config = { bareBearer: true };
      const toModel = (id: string) => ({ id, object: 'model', created: 0, owned_by: ctx.oracle.name });
      server.get('/v1/models', { config, schema: route('Models as OpenAI lists them', {}) }, async () => ({
        object: 'list',
        data: ctx.models.list.models.map(({ id }) => toModel(id)),
      }));
      const params = z.object({ model: z.string() });
      const modelSchema = route('A model as OpenAI shows it', { params });
      server.get('/v1/models/:model', { config, schema: modelSchema }, async ({ params: { model } }) => {
        checkModel(ctx, model);
        return toModel(model);
      });
      server.route({
        // Preflights are answered as everywhere.
        method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
        url: '/v1/*',
        config,
        schema: { hide: true },
        // Before the body is read: it may have a type that no route accepts.
        onRequest: async ({ method, url }) => {
          throw new AppError('NOT_FOUND', `There is no ${method} ${new URL(url, 'http://agent').pathname} here.`);
        },
        handler: async () => {},
      });
      addChatCompletions(server, ctx);
      addResponses(server, ctx);
    },
  });
}

const toolSchema = z.object({
  type: z.literal('function', { error: 'must be function' }),
  function: z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});

const bodySchema = z.looseObject({
  model: z.string().optional(),
  messages: z.array(chatMessageSchema).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: toolChoiceSchema,
  n: z.literal(1, { error: 'must be 1' }).nullish(),
  response_format: formatSchema,
});

type Body = z.infer<typeof bodySchema>;

/** `POST /v1/chat/completions`: the conversation comes with every request, so each has a session of its own until it ends. */
function addChatCompletions(server: Server, ctx: PluginContext): void {
  const schema = route('Chat completions of OpenAI', { body: bodySchema, response: openAiReply });
  server.post('/v1/chat/completions', { config: doorConfig, schema }, async (request, reply) => {
    const { body } = request;
    return serveRun(ctx, {
      request,
      reply,
      prefix: 'chatcmpl-',
      isTemporary: true,
      open(sender) {
        const asked = { ...toMessage(body), model: body.model, path: 'messages' };
        return openRun(ctx, sender, () => toQuestion(ctx, sender, asked));
      },
      toEvents: (run, base, signal) =>
        toChunks(run, { base, usage: body.stream_options?.include_usage ?? false, signal }),
      toWhole: toCompletion,
    });
  });
}

function toCompletion({ message, calls, usage }: Answer, base: RunBase) {
  const toolCalls = calls.length > 0 && { tool_calls: calls.map(toToolCall) };
  return {
    ...base,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: message.content || null, refusal: null, ...toolCalls },
        logprobs: null,
        finish_reason: toFinishReason(message.finish),
      },
    ],
    usage: toUsage(usage),
  };
}

function toMessage({ messages, tools, tool_choice: choice, response_format: format }: Body) {
  const conversation = createConversation();
  for (const [index, { role, content, tool_calls: calls, tool_call_id: id }] of messages.entries()) {
    const text = toText(content, `messages.${index}.content`, role === 'user');
    if (role === 'assistant')
      conversation.answer(text, calls?.map(({ id: callId, function: call }) => ({ id: callId, ...call })) ?? []);
    else if (role !== 'tool') conversation.say(text, toFiles(content));
    else if (!conversation.addResult(id ?? '', text))
      throw invalid(`messages.${index}.tool_call_id`, 'must be the id of a call in a message before it');
  }
  const callerTools = choice === 'none' ? [] : (tools ?? []).map((tool) => toCallerTool(tool.function));
  return { ...conversation.split(), callerTools, answer: toAnswerForm(choice, format, callerTools) };
}

async function* toChunks(
  run: AgentRun,
  { base, usage: wantsUsage, signal }: { base: object; usage: boolean; signal: AbortSignal },
): AsyncGenerator<string> {
  const toChunk = (delta: object, finish: string | null = null) =>
    toEvent({
      ...base,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(wantsUsage && { usage: null }),
    });
  yield toChunk({ role: 'assistant', content: '' });
  yield* translateRun(
    run,
    {
      delta: ({ kind }, content) => (kind === 'text' ? [toChunk({ content })] : []),
      error: ({ error: message, code }) => [toEvent(toOpenAiError(toFailure({ code, message })))],
      done: ({ finish, usage = noUsage }, left) => [
        ...left.map(({ eventId: id, toolName, args }, index) =>
          toChunk({ tool_calls: [{ index, ...toToolCall({ id, name: toolName, args }) }] }),
        ),
        toChunk({}, toFinishReason(finish)),
        ...(wantsUsage
          ? [toEvent({ ...base, object: 'chat.completion.chunk', choices: [], usage: toUsage(usage) })]
          : []),
        toEvent('[DONE]'),
      ],
    },
    signal,
  );
}

function toToolCall({ id, name, args }: Pick<ToolCall, 'id' | 'name' | 'args'>) {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}

function toFinishReason(finish: MessageFinish | undefined): string {
  return finish === undefined || finish === 'step_limit' ? 'stop' : finish;
}

function toUsage({ inputTokens, outputTokens }: RunUsage) {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}
