import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4FinishReason,
  type LanguageModelV4StreamPart,
  type LanguageModelV4ToolCall,
  type LanguageModelV4ToolChoice,
  type LanguageModelV4Usage,
  type SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { parseJson } from '@palaver/contract/internal';
import type { ModelResult, StepContent } from '../define/middleware.ts';
import { estimateTokens } from '../models/create-models.ts';
import { TurnError } from '../runs/run.ts';

export interface ModelStepOptions {
  model: LanguageModelV4;
  prompt: LanguageModelV4CallOptions['prompt'];
  tools: LanguageModelV4CallOptions['tools'];
  toolChoice?: LanguageModelV4ToolChoice | undefined;
  settings?: Omit<LanguageModelV4CallOptions, 'prompt' | 'tools' | 'toolChoice' | 'abortSignal'> | undefined;
  signal: AbortSignal;
  /** Longest silence, before the first part and between parts. */
  idleMs: number;
  output: StepOutput;
}

export interface StepOutput {
  startStep?(): void;
  text(delta: string): void;
  reasoning(delta: string, isComplete: boolean): void;
  /** All that the model produces, arguments of tools included. */
  received?(delta: string): void;
  /** What the provider reports for an attempt of which nothing arrived. */
  spent?(usage: ModelResult['usage']): void;
}

const attempts = 3;
const longestRetryMs = 10_000;
const maxOutputCharacters = 1_000_000;
const maxToolCalls = 32;

/** How far one attempt has come. Nothing of one that still waits was shown, so only that one is repeated. */
interface Step {
  phase: 'waiting' | 'receiving' | 'finished';
  text: string;
  received: string;
  toolCalls: ModelResult['toolCalls'];
  content: StepContent;
  finish?: LanguageModelV4FinishReason['unified'] | undefined;
  usage?: LanguageModelV4Usage;
}

type OpenPart = Extract<StepContent[number], { type: 'text' | 'reasoning' }>;
type StreamText = Extract<LanguageModelV4StreamPart, { type: `${OpenPart['type']}-${'start' | 'delta' | 'end'}` }>;

/** Reads a stream and shows it. Providers attach what they need to see again to any part of a text or call; the last counts. */
function createStepReader(output: StepOutput) {
  const step: Step = { phase: 'waiting', text: '', received: '', toolCalls: [], content: [] };
  const open = new Map<string, OpenPart>();

  function grow(delta: string): void {
    const received = step.received + delta;
    if (received.length > maxOutputCharacters) throw overLimit('The answer grew too long and was cut off.');
    Object.assign(step, { phase: 'receiving', received });
    output.received?.(delta);
  }

  function addText(type: OpenPart['type'], part: StreamText): void {
    const key = `${type} ${part.id}`;
    const known = open.get(key);
    const own: OpenPart = known ?? { type, text: '' };
    if (!known) step.content.push(own);
    open.set(key, own);
    if (part.providerMetadata) own.providerOptions = part.providerMetadata as SharedV4ProviderOptions;
    if ('delta' in part) {
      grow(part.delta);
      own.text += part.delta;
      if (type === 'text') step.text += part.delta;
      if (type === 'text') output.text(part.delta);
      else output.reasoning(part.delta, false);
    }
    if (part.type.endsWith('-end')) open.delete(key);
    if (part.type === 'reasoning-end') output.reasoning('', true);
  }

  function add(part: LanguageModelV4StreamPart) {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return addText('text', part);
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return addText('reasoning', part);
      case 'tool-input-delta':
        return grow(part.delta);
      case 'tool-call': {
        if (step.toolCalls.length === maxToolCalls)
          throw overLimit(`The language model asked for more than ${maxToolCalls} tools at once.`);
        const call = toCall(part);
        step.phase = 'receiving';
        step.toolCalls.push(call);
        const { toolName, providerMetadata: metadata } = part;
        // In this turn a provider that attached metadata to a call finds it by its own id; all others are shown ours.
        const toolCallId = metadata ? part.toolCallId : call.id;
        const options = metadata && { providerOptions: metadata as SharedV4ProviderOptions };
        step.content.push({ type: 'tool-call', toolCallId, toolName, input: call.args, ...options });
        return;
      }
      case 'finish': {
        const finish = readFinish(part.finishReason);
        const isAnswer = finish !== undefined && (step.text !== '' || step.toolCalls.length > 0);
        Object.assign(step, { finish, usage: part.usage, ...(isAnswer && { phase: 'finished' }) });
        return;
      }
      case 'error':
        throw part.error;
    }
  }

  return { step, add };
}

/** Repeats the call after a temporary fault of the provider unless something has arrived. */
export async function streamModelStep(options: ModelStepOptions): Promise<ModelResult> {
  for (let attempt = 1; ; attempt += 1) {
    const ended = await streamOnce(options);
    if ('result' in ended) return ended.result;
    const { phase, error } = ended;
    const waitMs = Math.max(250 * 2 ** attempt * (0.5 + Math.random()), readRetryAfter(error));
    const mayRepeat = phase === 'waiting' && attempt < attempts && !options.signal.aborted;
    if (!mayRepeat || !isPassing(error) || waitMs > longestRetryMs) throw error;
    await sleep(waitMs, undefined, { signal: options.signal });
  }
}

function readRetryAfter(error: unknown): number {
  const header = APICallError.isInstance(error) ? error.responseHeaders?.['retry-after'] : undefined;
  if (header === undefined) return 0;
  const waitMs = Number.isNaN(Number(header)) ? Date.parse(header) - Date.now() : Number(header) * 1000;
  return Number.isFinite(waitMs) ? Math.max(waitMs, 0) : 0;
}

async function streamOnce(
  options: ModelStepOptions,
): Promise<{ result: ModelResult } | { phase: Step['phase']; error: unknown }> {
  const { output, prompt } = options;
  const silent = new AbortController();
  const timer = setTimeout(() => {
    const message = `The language model sent nothing for ${Math.round(options.idleMs / 1000)} s.`;
    silent.abort(new TurnError('MODEL_TIMEOUT', message, { kind: 'timeout', retryable: true }));
  }, options.idleMs);
  const signal = AbortSignal.any([options.signal, silent.signal]);
  const { step, add } = createStepReader(output);
  try {
    const { stream } = await options.model.doStream({
      ...options.settings,
      prompt,
      ...(options.tools?.length && { tools: options.tools, toolChoice: options.toolChoice ?? { type: 'auto' } }),
      abortSignal: signal,
    });
    for await (const part of stream) {
      signal.throwIfAborted();
      timer.refresh();
      add(part);
    }
    if (step.phase !== 'finished') {
      const isReported = step.usage?.inputTokens.total !== undefined;
      if (isReported && step.phase === 'waiting') output.spent?.(toUsage(step, prompt));
      throw cutShort(step.finish);
    }
    return { result: toResult(step, prompt) };
  } catch (error) {
    // After an abort its reason counts, not the error that it caused in the provider's code.
    return { phase: step.phase, error: signal.aborted ? signal.reason : toModelError(error) };
  } finally {
    clearTimeout(timer);
  }
}

/** Some servers report none; their answers are not free. */
function toUsage({ usage, received }: Step, prompt: ModelStepOptions['prompt']): ModelResult['usage'] {
  return {
    inputTokens: usage?.inputTokens.total ?? estimateTokens(prompt),
    outputTokens: usage?.outputTokens.total ?? estimateTokens(received),
  };
}

function toResult(step: Step, prompt: ModelStepOptions['prompt']): ModelResult {
  const { text, toolCalls, content, finish } = step;
  const cut = 'they were cut off because the answer reached its length limit; send shorter ones';
  const isCut = finish === 'length';
  const why = finish === 'content-filter' ? 'content_filter' : isCut ? finish : undefined;
  return {
    text,
    toolCalls: isCut ? toolCalls.map((call) => (call.fault ? { ...call, fault: cut } : call)) : toolCalls,
    usage: toUsage(step, prompt),
    content: content.filter((part) => !('text' in part) || part.text !== '' || part.providerOptions !== undefined),
    ...(why && { finish: why }),
  };
}

const idCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function toCall({ toolName: name, input }: LanguageModelV4ToolCall): ModelResult['toolCalls'][number] {
  const args = input.trim() === '' ? {} : parseJson(input);
  // Some servers number calls from the start in every answer. Nine letters or digits is what all providers take.
  const id = Array.from({ length: 9 }, () => idCharacters[randomInt(idCharacters.length)]).join('');
  // A call is never shown with anything but an object: strict chat templates refuse it.
  return { id, name, args: args ?? {}, ...(args === undefined && { fault: 'they are not valid JSON' }) };
}

/** Why the model stopped; undefined if it gave no reason: some providers report a broken connection in this way. */
function readFinish({ unified, raw }: LanguageModelV4FinishReason): LanguageModelV4FinishReason['unified'] | undefined {
  const isBroken = unified === 'interrupted' || (raw === undefined && (unified === 'other' || unified === 'error'));
  return isBroken ? undefined : unified;
}

function overLimit(message: string): TurnError {
  return new TurnError('TURN_LIMIT_EXCEEDED', message, { kind: 'limit', retryable: false });
}

function cutShort(finished: string | undefined): TurnError {
  if (finished === 'content-filter')
    return new TurnError('MODEL_FAILED', 'The language model declined to answer.', { kind: 'model', retryable: false });
  const what = finished === undefined ? 'broke off in the middle of its answer' : 'gave an empty answer';
  return new TurnError('MODEL_FAILED', `The language model ${what}.`, { kind: 'model', retryable: true });
}

function toModelError(error: unknown): unknown {
  if (error instanceof TurnError || APICallError.isInstance(error)) return error;
  const options = { kind: 'model', retryable: true, cause: error } as const;
  return new TurnError('MODEL_FAILED', 'The language model failed in the middle of its answer.', options);
}

/** Whether a retry may help. A limit or a final refusal does not change. */
export function isPassing(error: unknown): boolean {
  return APICallError.isInstance(error)
    ? error.isRetryable
    : error instanceof TurnError && error.kind === 'model' && error.retryable;
}
