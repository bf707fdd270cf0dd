import type { MessageFinish, ToolCall } from '@palaver/contract';
import { toEvent } from '@palaver/service-kit/internal';
import type { AgentRun } from '../../define/agent-run.ts';
import { type Answer, createCallTracker, noUsage, type RunUsage, toFailure } from '../collect-answer.ts';
import { toOpenAiError } from './openai-error.ts';
import type { RunBase } from './serve-run.ts';

export interface ResponseBase extends RunBase {
  previous: string | null;
  instructions: string | null;
  tools: object[];
  metadata: Record<string, string>;
  store: boolean;
}

type Item = ReturnType<typeof toMessageItem> | ReturnType<typeof toCallItem>;

interface ResponseEnd {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  output?: Item[];
  usage?: RunUsage;
  error?: object;
  reason?: string;
}

export function toCompleted(base: ResponseBase, { message, calls, usage }: Answer) {
  const text = message.content === '' ? [] : [toMessageItem(base.id, message.content)];
  return toResponse(base, {
    ...toEnd(message.finish),
    output: [...text, ...calls.map((call) => toCallItem(call))],
    usage,
  });
}

/** A run as the events of a streamed response. Tools of the agent run here and are not shown. */
export async function* toResponseEvents(
  run: AgentRun,
  base: ResponseBase,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let number = 0;
  const event = (type: string, data: object) => toEvent({ type, sequence_number: number++, ...data }, type);
  const started = { response: toResponse(base, { status: 'in_progress' }) };
  yield event('response.created', started);
  yield event('response.in_progress', started);
  const calls = createCallTracker();
  const output: Item[] = [];
  let text = '';
  const part = { item_id: `msg_${base.id}`, output_index: 0, content_index: 0 };
  for await (const { name, data } of run.events({ signal })) {
    if (name === 'tool_call') calls.add(data);
    if (name === 'message') {
      if (text === '') {
        yield event('response.output_item.added', { output_index: 0, item: toMessageItem(base.id, '', 'in_progress') });
        yield event('response.content_part.added', { ...part, part: toTextPart('') });
      }
      text += data.content;
      yield event('response.output_text.delta', { ...part, delta: data.content, logprobs: [] });
    }
    if (name === 'error') {
      const { error } = toOpenAiError(toFailure({ ...data, message: data.error }));
      yield event('response.failed', { response: toResponse(base, { status: 'failed', output, error }) });
      return;
    }
    if (name !== 'done') continue;
    if (text !== '') {
      const item = toMessageItem(base.id, text);
      yield event('response.output_text.done', { ...part, text, logprobs: [] });
      yield event('response.content_part.done', { ...part, part: toTextPart(text) });
      yield event('response.output_item.done', { output_index: 0, item });
      output.push(item);
    }
    for (const { eventId: id, toolName, args } of calls.leftToCaller(data)) {
      const item = toCallItem({ id, name: toolName, args });
      const place = { item_id: item.id, output_index: output.push(item) - 1 };
      yield event('response.output_item.added', { ...place, item: { ...item, arguments: '', status: 'in_progress' } });
      yield event('response.function_call_arguments.delta', { ...place, delta: item.arguments });
      yield event('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments });
      yield event('response.output_item.done', { ...place, item });
    }
    const end = toEnd(data.finish);
    yield event(`response.${end.status}`, {
      response: toResponse(base, { ...end, output, usage: data.usage ?? noUsage }),
    });
  }
}

function toEnd(finish: MessageFinish | undefined): Pick<ResponseEnd, 'status' | 'reason'> {
  if (finish === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  return finish === 'content_filter' ? { status: 'incomplete', reason: finish } : { status: 'completed' };
}

function toTextPart(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

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
    id: base.id,
    object: 'response',
    created_at: base.created,
    status,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: base.instructions,
    max_output_tokens: null,
    metadata: base.metadata,
    model: base.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: base.previous,
    reasoning: { effort: null, summary: null },
    store: base.store,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: base.tools,
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
