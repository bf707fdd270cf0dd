import { setTimeout as sleep } from 'node:timers/promises';
import { APICallError, type LanguageModelV4, type LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ModelResult } from '../plugins/plugin.ts';
import { TurnError } from './stream-error.ts';

export interface ModelStepOptions {
  model: LanguageModelV4;
  prompt: LanguageModelV4CallOptions['prompt'];
  tools: LanguageModelV4CallOptions['tools'];
  signal: AbortSignal;
  /** Longest silence, before the first part and between parts. */
  idleMs: number;
  onText(delta: string): void;
  onReasoning(delta: string, isComplete: boolean): void;
}

const attempts = 3;
const maxOutputCharacters = 1_000_000;

/** One call of the model, streamed. It is tried again on a provider's passing fault as long as nothing has arrived yet. */
export async function streamModelStep(options: ModelStepOptions): Promise<ModelResult> {
  for (let attempt = 1; ; attempt += 1) {
    let started = false;
    try {
      return await streamOnce(options, () => {
        started = true;
      });
    } catch (error) {
      if (started || attempt === attempts || options.signal.aborted || !isPassing(error)) throw error;
    }
    await sleep(250 * 2 ** attempt * (0.5 + Math.random()), undefined, { signal: options.signal });
  }
}

async function streamOnce(options: ModelStepOptions, onStart: () => void): Promise<ModelResult> {
  const silent = new AbortController();
  const timer = setTimeout(() => {
    const message = `The language model said nothing for ${Math.round(options.idleMs / 1000)} s.`;
    silent.abort(new TurnError('MODEL_TIMEOUT', message, { kind: 'timeout', retryable: true }));
  }, options.idleMs);
  const signal = AbortSignal.any([options.signal, silent.signal]);
  const result: ModelResult = { text: '', toolCalls: [], usage: { inputTokens: 0, outputTokens: 0 } };
  let size = 0;
  const grow = (delta: string) => {
    size += delta.length;
    if (size > maxOutputCharacters) throw new TurnError('TURN_LIMIT_EXCEEDED', 'The answer grew too long and was cut off.', { kind: 'limit', retryable: false });
    onStart();
  };
  try {
    const { stream } = await options.model.doStream({
      prompt: options.prompt,
      ...(options.tools?.length && { tools: options.tools, toolChoice: { type: 'auto' } }),
      abortSignal: signal,
    });
    let finished = false;
    for await (const part of stream) {
      signal.throwIfAborted();
      timer.refresh();
      switch (part.type) {
        case 'text-delta':
          grow(part.delta);
          result.text += part.delta;
          options.onText(part.delta);
          break;
        case 'reasoning-delta':
          grow(part.delta);
          options.onReasoning(part.delta, false);
          break;
        case 'reasoning-end':
          options.onReasoning('', true);
          break;
        case 'tool-input-delta':
          grow(part.delta);
          break;
        case 'tool-call':
          onStart();
          result.toolCalls.push({ id: part.toolCallId, name: part.toolName, args: parseArguments(part.input) });
          break;
        case 'finish':
          finished = true;
          result.usage = { inputTokens: part.usage.inputTokens.total ?? 0, outputTokens: part.usage.outputTokens.total ?? 0 };
          break;
        case 'error':
          throw part.error;
      }
    }
    if (!finished || (result.text === '' && result.toolCalls.length === 0)) throw cutShort(finished);
    return result;
  } catch (error) {
    // What was aborted is told by why it was, not by how the provider's code noticed.
    throw signal.aborted ? signal.reason : toModelError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** The provider gives arguments as JSON text; what is not JSON goes on as it is and fails the tool's own check. */
function parseArguments(input: string): unknown {
  if (input.trim() === '') return {};
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

function cutShort(finished: boolean): TurnError {
  const what = finished ? 'gave an empty answer' : 'broke off in the middle of its answer';
  return new TurnError('MODEL_FAILED', `The language model ${what}.`, { kind: 'model', retryable: true });
}

function toModelError(error: unknown): unknown {
  if (error instanceof TurnError || APICallError.isInstance(error)) return error;
  return new TurnError('MODEL_FAILED', 'The connection to the language model failed.', { kind: 'model', retryable: true, cause: error });
}

function isPassing(error: unknown): boolean {
  return APICallError.isInstance(error) ? error.isRetryable : error instanceof TurnError && error.kind === 'model' && error.retryable;
}
