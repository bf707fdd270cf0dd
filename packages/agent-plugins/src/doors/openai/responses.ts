import type { AgentRun, OpenMessage, PluginContext, Sender } from '@palaver/agent';
import { AppError, type MessageFinish, type SseEventData, type ToolCall } from '@palaver/contract';
import { invalid } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { signalOf, toEvent } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { doorConfig, openRun, toCallerTool } from '../define-door.ts';
import { type Answer, noUsage, type RunUsage, readAnswer, toFailure, translateRun } from '../translate-run.ts';
import {
  contentSchema,
  createConversation,
  formatSchema,
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
  text: z.looseObject({ format: formatSchema }).nullish(),
  conversation: z.null({ error: 'is not supported; use previous_response_id' }).optional(),
});

type Body = z.infer<typeof bodySchema>;

/** `POST /v1/responses`: a response is a run, `previous_response_id` continues its session. */
export function addResponses(server: Server, ctx: PluginContext): void {
  const schema = route('Responses of OpenAI', { body: bodySchema, response: openAiReply });
  server.post('/v1/responses', { config: doorConfig, schema }, async (request, reply) => {
    const { body } = request;
    return serveRun(ctx, {
      request,
      reply,
      prefix: 'resp_',
      isTemporary: body.store === false && !body.previous_response_id,
      open: (sender) => open(ctx, body, sender),
      toEvents: (run, base, signal) => toResponseEvents(run, toBase(base, body), signal),
      toWhole: (answer, base) => toCompleted(toBase(base, body), answer),
    });
  });
  const params = z.object({ id: z.string() });
  const config = { bareBearer: true, refuses: [404] };
  server.get(
    '/v1/responses/:id',
    { config, schema: route('A response as it is now', { params }) },
    async (request, reply) => {
      const { userDid } = ctx.senderOf(request, reply);
      return show(ctx, await findRun(ctx, userDid, request.params.id), signalOf(reply));
    },
  );
  const cancel = route('Stop a response', { params });
  server.post('/v1/responses/:id/cancel', { config, schema: cancel }, async (request, reply) => {
    const { userDid } = ctx.senderOf(request, reply);
    const run = await findRun(ctx, userDid, request.params.id);
    const signal = signalOf(reply);
    await run.abort();
    await run.answer(signal);
    return show(ctx, run, signal);
  });
}

const findRun = (ctx: PluginContext, userDid: string, id: string) =>
  ctx.resume({ userDid, runId: id.replace(/^resp_/, '') });

async function show(ctx: PluginContext, run: AgentRun, signal: AbortSignal) {
  const { status, changedAt } = await run.state();
  const created = Math.floor(Date.parse(changedAt) / 1000);
  const base = toBase({ id: `resp_${run.runId}`, created, model: ctx.models.list.default });
  if (status === 'queued') return toResponse(base, { status });
  if (status === 'running' || status === 'waiting') return toResponse(base, { status: 'in_progress' });
  const answer = await readAnswer(run, signal);
  if (status === 'complete') return toCompleted(base, answer);
  const { output } = toCompleted(base, answer);
  if (status === 'aborted') return toResponse(base, { status: 'cancelled', output });
  const { error } = toOpenAiError(toFailure(answer.message.error));
  return toResponse(base, { status: 'failed', output, error });
}

async function open(ctx: PluginContext, body: Body, sender: Sender): Promise<AgentRun> {
  const asked = { ...toMessage(body), model: body.model, path: 'input' };
  if (!body.previous_response_id) return openRun(ctx, sender, () => toQuestion(ctx, sender, asked));
  const { sessionId } = await findPrevious(ctx, sender.userDid, body.previous_response_id);
  return ctx.open({ ...(await toQuestion(ctx, sender, asked)), sessionId });
}

/** Only the newest response of a session can be continued: sessions have no branches. */
async function findPrevious(ctx: PluginContext, userDid: string, id: string): Promise<AgentRun> {
  const path = 'previous_response_id';
  const run = await findRun(ctx, userDid, id).catch((error) => {
    if (!(error instanceof AppError) || error.code !== 'RUN_NOT_FOUND') throw error;
    throw invalid(path, 'there is no such response');
  });
  const last = await ctx.messages.last(run.sessionId);
  // A question whose answer is not stored yet is one of a run behind it.
  if (last?.id !== run.messageId) throw invalid(path, 'must be the last response of its conversation, and complete');
  return run;
}

function toMessage(body: Body) {
  const { input, instructions, tools, tool_choice: choice, text: form, previous_response_id: previous } = body;
  const conversation = createConversation();
  const results: NonNullable<OpenMessage['results']> = [];
  const items: z.infer<typeof itemSchema>[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  for (const [index, item] of items.entries()) {
    const path = `input.${index}`;
    const { type = 'message', call_id: id = '', name = '', arguments: json = '{}' } = item;
    const takesFiles = type === 'message' && item.role === 'user';
    const text = toText(type === 'message' ? item.content : item.output, path, takesFiles);
    if (type === 'message' && item.role === 'assistant') conversation.answer(text);
    else if (type === 'message') conversation.say(text, toFiles(item.content));
    else if (type === 'function_call') conversation.answer('', [{ id, name, arguments: json }]);
    else if (type === 'function_call_output') {
      if (conversation.addResult(id, text)) continue;
      if (!previous) throw invalid(`${path}.call_id`, 'must be the id of a call before it');
      results.push({ toolCallId: id, output: text });
    } else if (type !== 'reasoning') throw invalid(`${path}.type`, `${type} is not supported`);
  }
  const callerTools = choice === 'none' ? [] : (tools ?? []).map(toCallerTool);
  const context = instructions ? [instructions] : [];
  const answer = toAnswerForm(choice, form?.format, callerTools);
  return {
    ...conversation.split(results.length > 0),
    context,
    callerTools,
    answer,
    ...(results.length > 0 && { results }),
  };
}

type ResponseBase = ReturnType<typeof toBase>;

/** What was asked comes back with the answer to it, and is not kept. */
function toBase({ id, created: created_at, model }: RunBase, body: Partial<Body> = {}) {
  return {
    id,
    created_at,
    model,
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    tools: body.tools ?? [],
    metadata: body.metadata ?? {},
    store: body.store ?? true,
  };
}

type Item = ReturnType<typeof toMessageItem> | ReturnType<typeof toCallItem>;

interface ResponseEnd {
  status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'cancelled' | 'failed';
  output?: Item[];
  usage?: RunUsage;
  error?: object;
  reason?: string;
}

function toCompleted(base: ResponseBase, { message, calls, usage }: Answer) {
  const text = message.content === '' ? [] : [toMessageItem(base.id, message.content)];
  return toResponse(base, {
    ...toEnd(message.finish),
    output: [...text, ...calls.map((call) => toCallItem(call))],
    usage,
  });
}

/** Tools of the agent run here and are not shown. */
async function* toResponseEvents(run: AgentRun, base: ResponseBase, signal: AbortSignal): AsyncGenerator<string> {
  let number = 0;
  let text = '';
  const event = (type: string, data: object) => toEvent({ type, sequence_number: number++, ...data }, type);
  const part = { item_id: `msg_${base.id}`, output_index: 0, content_index: 0 };
  const started = { response: toResponse(base, { status: 'in_progress' }) };
  yield event('response.created', started);
  yield event('response.in_progress', started);
  const addDelta = function* (delta: string) {
    if (text === '') {
      yield event('response.output_item.added', { output_index: 0, item: toMessageItem(base.id, '', 'in_progress') });
      yield event('response.content_part.added', { ...part, part: toTextPart('') });
    }
    text += delta;
    yield event('response.output_text.delta', { ...part, delta, logprobs: [] });
  };
  const endText = function* () {
    if (text === '') return;
    const item = toMessageItem(base.id, text);
    yield event('response.output_text.done', { ...part, text, logprobs: [] });
    yield event('response.content_part.done', { ...part, part: toTextPart(text) });
    yield event('response.output_item.done', { output_index: 0, item });
    output.push(item);
  };
  const addCall = function* ({ eventId: id, toolName: name, args }: SseEventData['tool_call']) {
    const item = toCallItem({ id, name, args });
    const place = { item_id: item.id, output_index: output.push(item) - 1 };
    yield event('response.output_item.added', { ...place, item: { ...item, arguments: '', status: 'in_progress' } });
    yield event('response.function_call_arguments.delta', { ...place, delta: item.arguments });
    yield event('response.function_call_arguments.done', { ...place, name, arguments: item.arguments });
    yield event('response.output_item.done', { ...place, item });
  };
  const output: Item[] = [];
  yield* translateRun(
    run,
    {
      delta: ({ kind }, delta) => (kind === 'text' ? [...addDelta(delta)] : []),
      error({ error: message, code }) {
        const { error } = toOpenAiError(toFailure({ code, message }));
        return [event('response.failed', { response: toResponse(base, { status: 'failed', output, error }) })];
      },
      done({ finish, usage = noUsage }, left) {
        const end = toEnd(finish);
        const items = [...endText(), ...left.flatMap((call) => [...addCall(call)])];
        return [...items, event(`response.${end.status}`, { response: toResponse(base, { ...end, output, usage }) })];
      },
    },
    signal,
  );
}

function toEnd(finish: MessageFinish | undefined): Pick<ResponseEnd, 'status' | 'reason'> {
  if (finish === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  return finish === 'content_filter' ? { status: 'incomplete', reason: finish } : { status: 'completed' };
}

const toTextPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

function toMessageItem(id: string, text: string, status = 'completed') {
  const content = status === 'completed' ? [toTextPart(text)] : [];
  return { id: `msg_${id}`, type: 'message', role: 'assistant', status, content };
}

function toCallItem({ id, name, args }: Pick<ToolCall, 'id' | 'name' | 'args'>) {
  return {
    id: `fc_${id}`,
    type: 'function_call',
    call_id: id,
    name,
    arguments: JSON.stringify(args),
    status: 'completed',
  };
}

function toResponse(base: ResponseBase, { status, output = [], usage, error, reason }: ResponseEnd) {
  return {
    ...base,
    object: 'response',
    status,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    max_output_tokens: null,
    output,
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    top_p: null,
    truncation: 'disabled',
    usage: usage ? toUsage(usage) : null,
  };
}

function toUsage({ inputTokens, outputTokens }: RunUsage) {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
