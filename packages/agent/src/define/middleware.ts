import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { EndedRunStatus, MessageFinish, SendMessage } from '@palaver/contract';
import type { BlobStore, RuntimeContext } from './runtime-context.ts';
import type { Awaitable } from './tool.ts';

/** The output of the model in one step, in order, as it is sent back to the provider, which may have signed it. */
export type StepContent = Extract<LanguageModelV4Prompt[number], { role: 'assistant' }>['content'];

/** The input of the model in one step. */
export interface ModelCall {
  prompt: LanguageModelV4Prompt;
  tools: LanguageModelV4CallOptions['tools'];
  /** Change it to use another model of the deployment for this call. */
  modelId: string;
}

/** The output of the model in one step. */
export interface ModelResult {
  text: string;
  /** `fault`: why the arguments of a call cannot be read, in words for the model. */
  toolCalls: { id: string; name: string; args: unknown; fault?: string }[];
  usage: { inputTokens: number; outputTokens: number };
  /** Why the answer is incomplete; undefined if it is complete. */
  finish?: MessageFinish | undefined;
  content?: StepContent;
}

/** A call of a tool, its arguments checked. */
export interface ToolCallRequest {
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
}

/**
 * Hooks into every turn, in the order of the plugins; the first wrapper is the outermost. A hook that throws is logged
 * and skipped, but an `AppError` around the model ends the turn, and a `ToolError` around a tool is the tool's result.
 */
export interface Middleware {
  /** Wraps everything that model and tools do in a turn; called again if another instance takes over the run. */
  wrapTurn?(next: () => Promise<void>, rt: RuntimeContext): Promise<void>;
  beforeModel?(call: ModelCall, rt: RuntimeContext): Awaitable<ModelCall | undefined>;
  wrapModelCall?(
    call: ModelCall,
    next: (call: ModelCall) => Promise<ModelResult>,
    rt: RuntimeContext,
  ): Promise<ModelResult>;
  afterModel?(result: ModelResult, rt: RuntimeContext): Awaitable<void>;
  wrapToolCall?(
    call: ToolCallRequest,
    next: (call: ToolCallRequest) => Promise<unknown>,
    rt: RuntimeContext,
  ): Promise<unknown>;
  /** Called before a message is accepted; throw an `AppError` (such as 402) to refuse it. Any other error refuses it too. */
  beforeSend?(send: PendingSend): Awaitable<void>;
  /** In place of `beforeSend` where another process continues a run: says where files are read again. What it throws ends the run. */
  beforeResume?(send: PendingSend): Awaitable<void>;
  /** Called once for every message for which `beforeSend` was called, before the client gets `done`. */
  onTurnEnd?(end: TurnEnd): Awaitable<void>;
}

/** How a message ended, and what it cost. */
export interface TurnEnd {
  sendId: string;
  userDid: string;
  sessionId: string;
  /** Undefined if the message was refused before its turn began. */
  runId: string | undefined;
  model: string;
  status: EndedRunStatus | 'refused';
  usage: { inputTokens: number; outputTokens: number };
  /** Sub-agents and summaries may use other models than `model`. */
  usageByModel: Record<string, { inputTokens: number; outputTokens: number }>;
}

/** A message that has passed authentication and validation and is about to be queued. */
export interface PendingSend {
  /** Unique, unlike a request id, which a client may repeat. */
  sendId: string;
  userDid: string;
  sessionId: string;
  requestId: string;
  model: string;
  message: SendMessage;
  /** What limits per client address count it by; undefined if it came by no request, or from a shared address. */
  client?: string | undefined;
  secrets: RuntimeContext['secrets'];
  /** Files added here go to the model with the message; texts are stored with it for later turns. */
  blobs: BlobStore;
}
