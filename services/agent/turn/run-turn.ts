import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Middleware, ModelCall, ModelResult } from '../plugins/plugin.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import type { LoadedPlugin } from '../plugins/start-plugins.ts';
import { type BoundTools, bindTools } from './bind-tools.ts';
import { toPromptHistory, toUserMessage } from './history.ts';
import { streamModelStep } from './model-step.ts';
import type { Run } from './run.ts';
import { runToolCall, type ToolOutcome } from './run-tool-call.ts';
import { TurnError } from './stream-error.ts';
import { buildSystemPrompt } from './system-prompt.ts';
import type { Usage } from './turn-hub.ts';

export interface TurnParts {
  oracleName: string;
  plugins: LoadedPlugin[];
  model: LanguageModelV4;
  rt: RuntimeContext;
  run: Run;
  /** The summary of what is older than the history, when there is one. */
  summary?: string | undefined;
  idleMs: number;
}

const maxSteps = 12;

/**
 * One turn: the model speaks, its tools run side by side, it reads their results and speaks again until it asks for no
 * more tools. Events are pushed as they happen, not yielded: parallel tools speak at any time.
 */
export async function runTurn(parts: TurnParts): Promise<Usage> {
  const { plugins, rt } = parts;
  const tools = await bindTools(plugins, rt);
  const middlewares = plugins.flatMap((plugin) => plugin.middlewares);
  const system = await buildSystemPrompt({ name: parts.oracleName, plugins, rt });
  const summary = parts.summary ? [{ role: 'system' as const, content: `Earlier in this conversation: ${parts.summary}` }] : [];
  let prompt: LanguageModelV4Prompt = [{ role: 'system', content: system }, ...summary, ...toPromptHistory(rt.history), toQuestion(rt)];
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };

  for (let step = 0; step < maxSteps; step += 1) {
    const result = await callModel(parts, middlewares, { prompt, tools: tools.declarations(), modelId: parts.model.modelId });
    usage.inputTokens += result.usage.inputTokens;
    usage.outputTokens += result.usage.outputTokens;
    for (const { afterModel } of middlewares) await afterModel?.(result, rt);
    if (result.toolCalls.length === 0) return usage;
    const outcomes = await Promise.all(result.toolCalls.map((call) => callTool(call, { ...parts, tools, middlewares })));
    prompt = [...prompt, ...toToolMessages(result, outcomes)];
  }
  throw new TurnError('TURN_LIMIT_EXCEEDED', `The assistant used tools ${maxSteps} times without coming to an answer.`, {
    kind: 'limit',
    retryable: false,
  });
}

/** The user's words with the files that came along. */
function toQuestion({ message, blobStore }: RuntimeContext): LanguageModelV4Prompt[number] {
  const question = toUserMessage(message.message);
  if (question.role !== 'user') return question;
  for (const name of blobStore.list()) {
    const blob = blobStore.get(name);
    if (!blob) continue;
    if (blob.mediaType.startsWith('text/')) {
      question.content.push({ type: 'text', text: `\n\n[File ${name}]\n${Buffer.from(blob.bytes).toString('utf8')}` });
    } else {
      question.content.push({ type: 'file', filename: name, mediaType: blob.mediaType, data: { type: 'data', data: blob.bytes } });
    }
  }
  return question;
}

async function callModel({ model, rt, run, idleMs }: TurnParts, middlewares: Middleware[], first: ModelCall): Promise<ModelResult> {
  let call = first;
  for (const { beforeModel } of middlewares) call = (await beforeModel?.(call, rt)) ?? call;
  const { sessionId, requestId } = run;
  const base = ({ prompt, tools }: ModelCall) =>
    streamModelStep({
      model,
      prompt,
      tools,
      signal: run.signal,
      idleMs,
      onText: (content) => run.emit('message', { content, timestamp: new Date().toISOString() }),
      onReasoning: (reasoning, isComplete) => run.emit('reasoning', { sessionId, requestId, reasoning, isComplete }),
    });
  const wrapped = middlewares.reduceRight<(call: ModelCall) => Promise<ModelResult>>(
    (next, { wrapModelCall }) => (wrapModelCall ? (request) => wrapModelCall(request, next, rt) : next),
    base,
  );
  return wrapped(call);
}

async function callTool(
  { id, name, args }: ModelResult['toolCalls'][number],
  { tools, rt, run, middlewares }: TurnParts & { tools: BoundTools; middlewares: Middleware[] },
): Promise<ToolOutcome> {
  const tool = tools.get(name);
  // Models number their calls per answer; events need ids that are unique in the session.
  const toolCallId = `${run.runId}-${id}`.slice(0, 200);
  const told = tool?.event !== 'none';
  const shownArgs = typeof args === 'object' && args !== null && !Array.isArray(args) ? (args as Record<string, unknown>) : {};
  const call = { sessionId: run.sessionId, requestId: run.requestId, eventId: toolCallId, toolName: name, args: shownArgs };
  if (told) run.emit('tool_call', { ...call, status: 'isRunning' });
  try {
    const outcome = await runToolCall({ toolCallId, toolName: name, args }, { tool, rt, middlewares });
    if (told) run.emit('tool_call', { ...call, ...outcome, status: outcome.error === undefined ? 'done' : 'error' });
    return outcome;
  } catch (error) {
    if (told) run.emit('tool_call', { ...call, status: 'error', error: 'The turn was stopped.' });
    throw error;
  }
}

function toToolMessages(result: ModelResult, outcomes: ToolOutcome[]): LanguageModelV4Prompt {
  const text = result.text === '' ? [] : [{ type: 'text' as const, text: result.text }];
  const calls = result.toolCalls.map(({ id, name, args }) => ({ type: 'tool-call' as const, toolCallId: id, toolName: name, input: args }));
  const results = result.toolCalls.map(({ id, name }, index) => {
    const { output, error } = outcomes[index] ?? {};
    const value =
      error === undefined
        ? { type: 'json' as const, value: (output ?? null) as never }
        : { type: 'error-text' as const, value: error };
    return { type: 'tool-result' as const, toolCallId: id, toolName: name, output: value };
  });
  return [
    { role: 'assistant', content: [...text, ...calls] },
    { role: 'tool', content: results },
  ];
}

