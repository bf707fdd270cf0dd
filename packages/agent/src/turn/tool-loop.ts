import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { ModelCall, ModelResult, StepContent } from '../define/middleware.ts';
import type { RuntimeContext } from '../define/runtime-context.ts';
import { estimateTokens, type Models } from '../models/create-models.ts';
import { isAbortedByUser, type Run, TurnError } from '../runs/run.ts';
import type { LoopSteps, RecordedStep, ToolOutcome } from '../runs/steps.ts';
import type { GatedCall } from '../store/approvals.ts';
import { isPassing, type ModelStepOptions, type StepOutput, streamModelStep } from './model-step.ts';
import type { BoundTools, StepTools, TurnMiddlewares } from './plugins.ts';
import {
  type ArgumentFaults,
  findApprovals,
  findDelegations,
  runToolCall,
  type ToolPart,
  toShownArgs,
} from './tool-call.ts';

export interface ToolLoopParts {
  model: LanguageModelV4;
  tools: BoundTools;
  middlewares: TurnMiddlewares;
  rt: RuntimeContext;
  run: Run;
  /** The system messages; asked before every step. */
  system(): Promise<string[]>;
  messages: LanguageModelV4Prompt;
  maxSteps: number;
  settings?: ModelStepOptions['settings'];
  firstToolChoice?: ModelStepOptions['toolChoice'];
  /** The first step is shown the caller's tools alone: it has to call one of them. */
  isFirstForCaller?: boolean;
  idleMs: number;
  steps: LoopSteps;
  parentId?: string | undefined;
  /** For a middleware that has another model answer, and for a model that cannot. */
  models: Pick<Models, 'resolve' | 'fallbacks'>;
  output: StepOutput;
}

export interface LoopEnd extends Pick<ModelResult, 'text' | 'finish'> {
  isWaiting?: boolean;
}

const progressIntervalMs = 1_000;
const cannotAsk = 'APPROVAL_REFUSED: the user cannot be asked for approval now. It was not run.';

/**
 * Calls the model, and its tools in parallel, until it asks for none or for the caller's; after `maxSteps` it
 * answers without tools. Events are pushed, not yielded, because tools run in parallel. `isWaiting`: tools wait for the
 * user; the loop begins again with the recorded steps on resume.
 */
export async function runToolLoop(parts: ToolLoopParts): Promise<LoopEnd> {
  let { messages } = parts;
  const { steps } = parts;
  const faults: ArgumentFaults = new Map();
  const refused = new Set<string>();
  // Whatever is loaded while the calls of a step run is for the next one.
  let tools = parts.tools.forStep();
  const refusalOf = ({ id, name }: Call) =>
    refused.has(id) ? cannotAsk : steps.refusalOf(id, tools.fingerprintOf(name));
  const canRepeat = ({ toolCalls }: Calls) => toolCalls.every(({ name }) => tools.get(name)?.repeatable ?? false);
  const allowed = (calls: Call[]) => calls.filter((call) => refusalOf(call) === undefined);
  const pause = async (result: RecordedStep['result'], calls: GatedCall[]) => {
    if (calls.length === 0) return false;
    const fingerprints = Object.fromEntries(result.toolCalls.map(({ id, name }) => [id, tools.fingerprintOf(name)]));
    return steps.pause(result, { calls, fingerprints }, canRepeat(result));
  };
  /** Undefined if sub-agents wait for the user. */
  const callTools = async (result: RecordedStep['result'], done: (ToolOutcome | null)[] = []) => {
    const callOthers = (ended: (ToolOutcome | null)[]) =>
      Promise.all(
        result.toolCalls.map((call, at) => ended[at] ?? callTool({ ...parts, tools, faults, refusalOf }, call)),
      );
    let outcomes = await callOthers(done);
    if (outcomes.some(({ isWaiting }) => isWaiting)) {
      if (await steps.pauseNested(result, outcomes)) return undefined;
      outcomes = await callOthers(outcomes.map((outcome) => (outcome.isWaiting ? null : outcome)));
    }
    await steps.end(outcomes);
    return outcomes;
  };
  const ask = async (place: Place) => {
    tools = parts.tools.forStep();
    parts.output.startStep?.();
    const texts = [...(await parts.system()), ...(place.isLast ? [lastStepNote] : [])];
    const system = texts.map((content) => ({ role: 'system' as const, content }));
    const result = await callModel({ ...parts, tools }, [...system, ...messages], place);
    await parts.middlewares.afterModel(result);
    return result;
  };
  for (const { result, outcomes: recorded, done } of steps.earlier) {
    const missing =
      recorded || done || steps.hasBegun ? [] : await findDelegations(allowed(result.toolCalls), { ...parts, tools });
    if (await pause(result, missing)) return waiting;
    const outcomes = recorded ?? (await callTools(result, done));
    if (!outcomes) return waiting;
    if (isHandedOff(outcomes)) return { text: result.text, finish: 'tool_calls' };
    messages = [...messages, ...toToolMessages(result, outcomes)];
  }
  for (let step = steps.earlier.length; step < parts.maxSteps; step += 1) {
    const result = await ask({ isFirst: step === 0, isLast: false });
    if (result.toolCalls.length === 0) return result;
    const asked = await findApprovals(result.toolCalls, { ...parts, tools });
    if (await pause(result, asked)) return waiting;
    for (const { toolCallId } of asked) refused.add(toolCallId);
    await steps.begin(result, asked.length === 0 && canRepeat(result));
    const outcomes = await callTools(result);
    if (!outcomes) return waiting;
    if (isHandedOff(outcomes)) return { text: result.text, finish: 'tool_calls' };
    messages = [...messages, ...toToolMessages(result, outcomes)];
  }
  const { text } = await ask({ isFirst: false, isLast: true });
  if (text !== '') return { text, finish: 'step_limit' };
  throw new TurnError(
    'TURN_LIMIT_EXCEEDED',
    `The assistant used tools ${parts.maxSteps} times without coming to an answer.`,
    { kind: 'limit', retryable: false },
  );
}

const waiting: LoopEnd = { text: '', isWaiting: true };

const isHandedOff = (outcomes: ToolOutcome[]): boolean => outcomes.some((outcome) => outcome.isHandedOff);

const lastStepNote =
  'You have used all the tool calls of this turn. Answer now with what you have, and say what is missing.';

type Place = { isFirst: boolean; isLast: boolean };
type StepParts = Omit<ToolLoopParts, 'tools'> & { tools: StepTools };

async function callModel(parts: StepParts, prompt: LanguageModelV4Prompt, { isFirst, isLast }: Place) {
  const toolChoice = isFirst ? parts.firstToolChoice : undefined;
  const { model, models, tools, middlewares, rt, run } = parts;
  const declared = tools.declarations(isFirst && parts.isFirstForCaller);
  const first = { prompt, tools: declared, modelId: model.modelId };
  const call = await middlewares.beforeModel(first);
  let received = '';
  const ask = async (request: ModelCall): Promise<ModelResult> => {
    const output: StepOutput = {
      ...parts.output,
      received(delta) {
        received += delta;
      },
      spent: (usage) => run.addUsage({ [request.modelId]: usage }),
    };
    const wasAborted = rt.abortSignal.aborted;
    try {
      const result = await streamModelStep({
        ...parts,
        ...request,
        model: request.modelId === model.modelId ? model : models.resolve(request.modelId),
        // The tools stay declared: some providers refuse a conversation with calls of tools they are not shown.
        toolChoice: isLast ? { type: 'none' } : toolChoice,
        output,
        signal: rt.abortSignal,
      });
      run.addUsage({ [request.modelId]: result.usage });
      return result;
    } catch (error) {
      // Providers report usage at the end; an interrupted answer used tokens too, also one that its user aborted before the first.
      if (received !== '' || (!wasAborted && isAbortedByUser(rt.abortSignal)))
        run.addUsage({
          [request.modelId]: { inputTokens: estimateTokens(request.prompt), outputTokens: estimateTokens(received) },
        });
      throw error;
    }
  };
  let { modelId } = call;
  for (const next of models.fallbacks.filter((id) => id !== call.modelId)) {
    try {
      return await middlewares.wrapModelCall({ ...call, modelId }, ask);
    } catch (error) {
      if (received !== '' || rt.abortSignal.aborted || !isPassing(error)) throw error;
      rt.logger.warn({ err: error, modelId, next }, 'a model cannot answer now, so the next one is asked');
    }
    modelId = next;
  }
  return middlewares.wrapModelCall({ ...call, modelId }, ask);
}

type Calls = Pick<ModelResult, 'toolCalls'>;
type Call = ModelResult['toolCalls'][number];

interface CallParts extends StepParts {
  faults: ArgumentFaults;
  refusalOf(call: Call): string | undefined;
}

async function callTool(
  { tools, rt, run, middlewares, faults, refusalOf, parentId, steps }: CallParts,
  asked: Call,
): Promise<ToolOutcome> {
  const { id: toolCallId, name, args, fault } = asked;
  const tool = tools.get(name);
  const hasEvents = tool?.event !== 'none';
  const call = {
    sessionId: run.sessionId,
    requestId: run.requestId,
    eventId: toolCallId,
    toolName: name,
    args: toShownArgs(tool, args),
    ...(parentId !== undefined && { parentId }),
  };
  const refusal = refusalOf(asked);
  if (refusal !== undefined) {
    run.emit('tool_call', { ...call, status: 'error', error: refusal });
    return { error: refusal };
  }
  if (hasEvents && !steps.hasNested(toolCallId)) run.emit('tool_call', { ...call, status: 'isRunning' });
  try {
    const onProgress = limitProgress<ToolPart>((part) => {
      if (hasEvents) run.emit('tool_call', { ...call, status: 'isRunning', ...part });
    });
    const request = { toolCallId, toolName: name, args, fault };
    const approval = { isApproved: steps.isApproved(toolCallId), invocation: steps.signedFor(toolCallId) };
    const { canLoad } = tools;
    const outcome = await runToolCall(request, { tool, rt, middlewares, faults, approval, canLoad, onProgress });
    if (steps.isWaiting(toolCallId)) return { isWaiting: true };
    if (outcome.error === undefined && tools.isCallers(name)) return { isHandedOff: true };
    if (hasEvents)
      run.emit('tool_call', { ...call, ...outcome, status: outcome.error === undefined ? 'done' : 'error' });
    return outcome;
  } catch (error) {
    if (hasEvents) run.emit('tool_call', { ...call, status: 'error', error: 'The turn was stopped.' });
    throw error;
  }
}

/** At most one report a second: every one is a frame that is stored. */
function limitProgress<Part>(emit: (part: Part) => void): (part: Part) => void {
  let next = 0;
  return (part) => {
    if (Date.now() < next) return;
    next = Date.now() + progressIntervalMs;
    emit(part);
  };
}

/** A text stays a text: as JSON it would reach the model in quotes. */
function toResultOutput(output: unknown, error: string | undefined) {
  if (error !== undefined) return { type: 'error-text' as const, value: error };
  if (typeof output === 'string') return { type: 'text' as const, value: output };
  return { type: 'json' as const, value: (output ?? null) as never };
}

function toToolMessages(result: RecordedStep['result'], outcomes: ToolOutcome[]): LanguageModelV4Prompt {
  const content = toStepContent(result);
  const calls = content.filter((part) => part.type === 'tool-call');
  const results = calls.map(({ toolCallId, toolName }, index) => {
    const { output, error } = outcomes[index] ?? {};
    return { type: 'tool-result' as const, toolCallId, toolName, output: toResultOutput(output, error) };
  });
  return [
    { role: 'assistant', content },
    { role: 'tool', content: results },
  ];
}

/** As the provider gave it, unless a middleware has changed the result or an older version stored it. */
function toStepContent({ text, toolCalls, content = [] }: RecordedStep['result']): StepContent {
  const said = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const names = content.flatMap((part) => (part.type === 'tool-call' ? [part.toolName] : []));
  const isAsGiven = said === text && names.join() === toolCalls.map(({ name }) => name).join();
  if (content.length > 0 && isAsGiven) return content;
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...toolCalls.map(({ id, name, args }) => ({
      type: 'tool-call' as const,
      toolCallId: id,
      toolName: name,
      input: args,
    })),
  ];
}
