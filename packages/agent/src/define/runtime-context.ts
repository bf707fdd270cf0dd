import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Message, PhoneContext, SendMessage, SseEventData, ToolErrorCode } from '@palaver/contract';
import type { Task } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import type { Capability, MintedToken } from '@palaver/ucan';
import type { ModelRole } from '../models/create-models.ts';

type Without<T> = Omit<T, 'sessionId' | 'requestId'>;

/** What a plugin sees of the request it works for. */
export interface RuntimeContext {
  user: {
    did: string;
    /** The delegation in force, as a token. It signs the user in here: send it to no other service, use `ucan.mintInvocation`. */
    delegation: string | undefined;
    timezone: string | undefined;
    currentTime: string;
  };
  /** `sendId` is that of the message, as `beforeSend` and `onTurnEnd` have it. */
  session: { id: string; requestId: string; roomId: string; runId: string; sendId: string };
  /** The phone that the message was typed on: answers are short, plain and in its language. Absent for other clients. */
  phone?: PhoneContext;
  message: SendMessage;
  /** What was said before, oldest first. */
  history: Message[];
  availablePlugins: string[];
  /** Plugins whose tools are bound now. */
  loadedPlugins: string[];
  /** Credentials that came with this request and no further. */
  secrets: { matrixAccessToken?: string | undefined; matrixHomeserver?: string | undefined };
  /** What limits per client address count the message by; undefined if it came from none, or from one that many share. */
  client?: string | undefined;
  blobStore: BlobStore;
  ucan: {
    hasCapability(capability: Capability): boolean;
    /** The same, and asks whether the delegation was revoked since the turn began. */
    confirmCapability(capability: Capability): Promise<boolean>;
    /** Throws REAUTHORIZATION_REQUIRED and asks the user where the delegation does not cover it. */
    requireCapability(capability: Capability): void;
    mintInvocation(options: {
      audience: string;
      capability: Capability;
      lifetimeSeconds?: number;
    }): Promise<MintedToken>;
    resolveServiceDid(url: string): Promise<string>;
  };
  llm: { get(role: ModelRole): LanguageModelV4 };
  /** What models have used in this turn so far, by model. */
  usage(): Record<string, { inputTokens: number; outputTokens: number }>;
  emit: {
    toolCall(data: Without<SseEventData['tool_call']>): void;
    /** With `isRunning` it is also sent to one of the user's pages, once for each `toolCallId`. */
    actionCall(data: Without<SseEventData['action_call']>): void;
    renderComponent(data: Without<SseEventData['render_component']>): void;
    reasoning(data: Without<SseEventData['reasoning']>): void;
    /** Likewise. */
    browserToolCall(data: Without<SseEventData['browser_tool_call']>): void;
    router(data: Without<SseEventData['router_update']>): void;
    messageCacheInvalidation(messageId?: string): void;
  };
  /** Schedules a prompt of the user in this session by the plugin `tasks`; throws a `ToolError` where it cannot. */
  schedule(wanted: ScheduledPrompt): Promise<Task>;
  callBrowser(
    event: 'browser_tool_call' | 'action_call',
    call: { toolCallId: string; toolName: string; args: Record<string, unknown> },
  ): Promise<unknown>;
  logger: Logger;
  abortSignal: AbortSignal;
  shared: Record<string, unknown>;
  /** Set while one of the plugin's tools runs. */
  toolCallId: string | undefined;
  /** Set while a tool runs for which the user has signed an invocation: see `needsInvocation` of a tool. */
  invocation?: string | undefined;
  /** For a tool that takes long: shows the client how far it is, and starts its time limit again. */
  reportProgress(progress: ToolProgress): void;
  /** Headers (`traceparent`) for requests to other services, so that they join this trace; none where traces are off. */
  traceHeaders(): Record<string, string>;
}

/** A prompt for later, at exactly one of `at`, `in`, `every` and `cron`, in the form in which users name them. */
export interface ScheduledPrompt {
  prompt: string;
  /** Once: ISO 8601, local where it has no offset. */
  at?: string | undefined;
  /** Once, from now: "10 minutes", "3 days". */
  in?: string | undefined;
  /** Again and again, from now: "2 hours". */
  every?: string | undefined;
  /** Minute, hour, day, month, weekday. */
  cron?: string | undefined;
  /** The user's own unless given. */
  timezone?: string | undefined;
}

/** The progress of a tool. */
export type ToolProgress = NonNullable<SseEventData['tool_call']['progress']>;

/** Bytes that belong to a request, such as its attachments. */
export interface BlobStore {
  put(name: string, bytes: Uint8Array, mediaType: string): void;
  get(name: string): { bytes: Uint8Array; mediaType: string } | undefined;
  list(): string[];
  /** Where its bytes can be read again: they are not kept while their run waits for its place or for the user. */
  readAgainFrom(source: BlobSource): void;
}

/** Reads the bytes of a request again. */
export interface BlobSource {
  names(): Iterable<string>;
  /** Puts every one again, under the same name. */
  load(signal: AbortSignal): Promise<void>;
  /** The bytes have been let go of. */
  release(): void;
  /** Whether another process can read them too: see `beforeResume` of a middleware. */
  isStored?: boolean;
}

/**
 * Why a tool failed, as a message for the model.
 *
 * @example
 * ```ts
 * import { ToolError } from '@palaver/agent';
 *
 * export const fault = new ToolError('TOOL_FAILED', 'there is no weather station at Kisumu');
 * ```
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly code: ToolErrorCode;

  constructor(code: ToolErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}
