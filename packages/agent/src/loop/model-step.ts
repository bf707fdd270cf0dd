import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4FinishReason,
  type LanguageModelV4ToolCall,
  type LanguageModelV4ToolChoice,
} from '@ai-sdk/provider';
import { estimateTokens } from '../models/estimate-tokens.ts';
import type { ModelResult } from '../plugins/middleware.ts';
import { TurnError } from '../run/stream-error.ts';
import { createContentCollector } from './collect-content.ts';

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

/** Receives the output of a step. */
export interface StepOutput {
  startStep?(): void;
  text(delta: string): void;
  reasoning(delta: string, isComplete: boolean): void;
  /** All that the model produces, arguments of tools included. */
  received?(delta: string): void;
}

const attempts = 3;
const longestRetryMs = 10_000;
const maxOutputCharacters = 1_000_000;
const maxToolCalls = 32;

/** One call of the model, streamed. It is repeated after a temporary fault of the provider unless something has arrived. */
export async function streamModelStep(options: ModelStepOptions): Promise<ModelResult> {
  for (let attempt = 1; ; attempt += 1) {
    let started = false;
    let waitMs: number;
    try {
      return await streamOnce(options, () => {
        started = true;
      });
    } catch (error) {
      waitMs = Math.max(250 * 2 ** attempt * (0.5 + Math.random()), readRetryAfter(error));
      const isOver = started || attempt === attempts || options.signal.aborted;
      if (isOver || !isPassing(error) || waitMs > longestRetryMs) throw error;
    }
    await sleep(waitMs, undefined, { signal: options.signal });
  }
}

/** How long the provider asks to wait, in seconds or until a date. */
function readRetryAfter(error: unknown): number {
  const header = APICallError.isInstance(error) ? error.responseHeaders?.['retry-after'] : undefined;
  if (header === undefined) return 0;
  const waitMs = Number.isNaN(Number(header)) ? Date.parse(header) - Date.now() : Number(header) * 1000;
  return Number.isFinite(waitMs) ? Math.max(waitMs, 0) : 0;
}

async function streamOnce(options: ModelStepOptions, onStart: () => void): Promise<ModelResult> {
  const silent = new AbortController();
  const timer = setTimeout(() => {
    const message = `The language model sent nothing for ${Math.round(options.idleMs / 1000)} s.`;
    silent.abort(new TurnError('MODEL_TIMEOUT', message, { kind: 'timeout', retryable: true }));
  }, options.idleMs);
  const signal = AbortSignal.any([options.signal, silent.signal]);
  const result: ModelResult = { text: '', toolCalls: [], usage: { inputTokens: 0, outputTokens: 0 } };
  const collected = createContentCollector();
  let received = '';
  const grow = (delta: string) => {
    received += delta;
    if (received.length > maxOutputCharacters) throw overLimit('The answer grew too long and was cut off.');
    options.output.received?.(delta);
    onStart();
  };
  try {
    const { stream } = await options.model.doStream({
      ...options.settings,
      prompt: options.prompt,
      ...(options.tools?.length && { tools: options.tools, toolChoice: options.toolChoice ?? { type: 'auto' } }),
      abortSignal: signal,
    });
    let finished: LanguageModelV4FinishReason['unified'] | undefined;
    for await (const part of stream) {
      signal.throwIfAborted();
      timer.refresh();
      collected.add(part);
      switch (part.type) {
        case 'text-delta':
          grow(part.delta);
          result.text += part.delta;
          options.output.text(part.delta);
          break;
        case 'reasoning-delta':
          grow(part.delta);
          options.output.reasoning(part.delta, false);
          break;
        case 'reasoning-end':
          options.output.reasoning('', true);
          break;
        case 'tool-input-delta':
          grow(part.delta);
          break;
        case 'tool-call':
          onStart();
          if (result.toolCalls.length === maxToolCalls)
            throw overLimit(`The language model asked for more than ${maxToolCalls} tools at once.`);
          addCall(part, result, collected);
          break;
        case 'finish':
          finished = readFinish(part.finishReason);
          // Some servers report none; their answers are not free.
          result.usage = {
            inputTokens: part.usage.inputTokens.total ?? estimateTokens(options.prompt),
            outputTokens: part.usage.outputTokens.total ?? estimateTokens(received),
          };
          break;
        case 'error':
          throw part.error;
      }
    }
    if (finished === undefined || (result.text === '' && result.toolCalls.length === 0)) throw cutShort(finished);
    const finish = finished === 'length' ? finished : finished === 'content-filter' ? 'content_filter' : undefined;
    return { ...explainCut(result, finish), content: collected.toContent(), ...(finish && { finish }) };
  } catch (error) {
    // After an abort its reason counts, not the error that it caused in the provider's code.
    throw signal.aborted ? signal.reason : toModelError(error);
  } finally {
    clearTimeout(timer);
  }
}

const idCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * Ids of our own: some servers number their calls from the start in every answer, and in later turns the ids go to whichever
 * provider is in use then. Nine letters or digits is what all of them take (Mistral takes nothing else).
 */
function createCallId(): string {
  return Array.from({ length: 9 }, () => idCharacters[randomInt(idCharacters.length)]).join('');
}

type Collector = ReturnType<typeof createContentCollector>;

/**
 * In this turn a provider that attaches metadata to a call is shown its own id again: what it keeps of the call is found by
 * it. All others are shown ours.
 */
function addCall(
  { toolCallId, toolName: name, input, providerMetadata }: LanguageModelV4ToolCall,
  { toolCalls }: ModelResult,
  collected: Collector,
): void {
  const id = createCallId();
  const args = parseArguments(input);
  const shownId = providerMetadata ? toolCallId : id;
  toolCalls.push({ id, name, args: args ?? {}, ...(args === undefined && { fault: 'they are not valid JSON' }) });
  // A call is never shown with anything but an object: strict chat templates refuse it.
  collected.addCall({ toolCallId: shownId, toolName: name, input: args ?? {} }, providerMetadata);
}

function parseArguments(input: string): unknown {
  if (input.trim() === '') return {};
  try {
    return JSON.parse(input);
  } catch {
    return undefined;
  }
}

function explainCut(result: ModelResult, finish: ModelResult['finish']): ModelResult {
  if (finish !== 'length') return result;
  const fault = 'they were cut off because the answer reached its length limit; send shorter ones';
  return { ...result, toolCalls: result.toolCalls.map((call) => (call.fault ? { ...call, fault } : call)) };
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
  return new TurnError('MODEL_FAILED', 'The language model failed in the middle of its answer.', {
    kind: 'model',
    retryable: true,
    cause: error,
  });
}

/** Whether a retry may help. A limit or a final refusal does not change. */
function isPassing(error: unknown): boolean {
  return APICallError.isInstance(error)
    ? error.isRetryable
    : error instanceof TurnError && error.kind === 'model' && error.retryable;
}
