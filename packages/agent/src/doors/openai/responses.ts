import { AppError } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { z } from 'zod';
import type { AgentRun, OpenMessage, Sender } from '../../define/agent-run.ts';
import type { PluginContext } from '../../define/plugin-context.ts';
import { invalid, openInNewSession, toBody } from '../define-door.ts';
import { contentSchema, createConversation, toCallerTool, toolChoiceSchema, toText } from './openai-messages.ts';
import { type ResponseBase, toCompleted, toResponseEvents } from './response-events.ts';
import { openAiConfig, openAiReply, type RunBase, serveRun } from './serve-run.ts';

const itemSchema = z.looseObject({
  type: z.string().optional(),
  role: z.enum(['system', 'developer', 'user', 'assistant']).optional(),
  content: contentSchema.nullish(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  output: contentSchema.optional(),
});

const toolSchema = z.looseObject({
  type: z.literal('function', { error: 'must be function' }),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

const bodySchema = z.looseObject({
  model: z.string().optional(),
  input: z.union([z.string(), z.array(itemSchema).min(1)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  stream: z.boolean().nullish(),
  store: z.boolean().nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: toolChoiceSchema,
  metadata: z.record(z.string(), z.string()).nullish(),
  text: z
    .looseObject({ format: z.looseObject({ type: z.literal('text', { error: 'must be text' }) }).nullish() })
    .nullish(),
  conversation: z.null({ error: 'is not supported; use previous_response_id' }).optional(),
});

type Body = z.infer<typeof bodySchema>;

/** `POST /v1/responses`: a response is a run, `previous_response_id` continues its session. */
export function addResponses(server: Server, ctx: PluginContext): void {
  const schema = {
    tags: ['OpenAI'],
    summary: 'Responses of OpenAI',
    body: bodySchema,
    response: openAiReply,
  };
  server.post('/v1/responses', { config: openAiConfig, schema }, async (request, reply) => {
    const { body } = request;
    const extend = (base: RunBase): ResponseBase => ({
      ...base,
      previous: body.previous_response_id ?? null,
      instructions: body.instructions ?? null,
      tools: body.tools ?? [],
      metadata: body.metadata ?? {},
      store: body.store ?? true,
    });
    return serveRun(ctx, {
      ...{ request, reply, prefix: 'resp_', isTemporary: body.store === false && !body.previous_response_id },
      open: (sender) => open(ctx, body, sender),
      toEvents: (run, base, signal) => toResponseEvents(run, extend(base), signal),
      toWhole: (answer, base) => toCompleted(extend(base), answer),
    });
  });
}

async function open(ctx: PluginContext, body: Body, sender: Sender): Promise<AgentRun> {
  const message = { ...sender, ...toMessage(body) };
  if (!body.previous_response_id) return openInNewSession(ctx, message);
  const previous = await findPrevious(ctx, sender.userDid, body.previous_response_id);
  return ctx.open({ ...message, sessionId: previous.sessionId });
}

/** Only the newest response of a session can be continued: sessions have no branches. */
async function findPrevious(ctx: PluginContext, userDid: string, id: string): Promise<AgentRun> {
  const path = 'previous_response_id';
  const run = await ctx.resume({ userDid, runId: id.replace(/^resp_/, '') }).catch((error) => {
    if (!(error instanceof AppError) || error.code !== 'RUN_NOT_FOUND') throw error;
    throw invalid(path, 'there is no such response');
  });
  const last = await ctx.messages.last(run.sessionId);
  // A question whose answer is not stored yet is one of a run behind it.
  if (last?.id !== run.messageId) throw invalid(path, 'must be the last response of its conversation, and complete');
  return run;
}

function toMessage({ input, instructions, model, tools, tool_choice: choice, previous_response_id: previous }: Body) {
  const conversation = createConversation();
  const results: NonNullable<OpenMessage['results']> = [];
  const items: z.infer<typeof itemSchema>[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  for (const [index, item] of items.entries()) {
    const path = `input.${index}`;
    const { type = 'message', call_id: id = '', name = '', arguments: json = '{}' } = item;
    const text = toText(type === 'message' ? item.content : item.output, path);
    if (type === 'message' && item.role === 'assistant') conversation.answer(text);
    else if (type === 'message') conversation.say(text);
    else if (type === 'function_call') conversation.answer('', [{ id, name, arguments: json }]);
    else if (type === 'function_call_output') {
      if (conversation.addResult(id, text)) continue;
      if (!previous) throw invalid(`${path}.call_id`, 'must be the id of a call before it');
      results.push({ toolCallId: id, output: text });
    } else if (type !== 'reasoning') throw invalid(`${path}.type`, `${type} is not supported`);
  }
  const callerTools = choice === 'none' ? [] : (tools ?? []).map(toCallerTool);
  const { message, earlier } = conversation.split(results.length > 0);
  const context = instructions ? [instructions] : [];
  return { body: toBody(message, model), earlier, context, callerTools, ...(results.length > 0 && { results }) };
}
