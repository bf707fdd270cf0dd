import type { BrowserTool, Message, SendMessage, SseEvent } from '@palaver/contract';
import type { RateStanding } from '@palaver/service-kit';
import type { RuntimeContext } from './runtime-context.ts';

/** Who sends a message, and what came along with the request. */
export interface Sender {
  userDid: string;
  requestId: string;
  /** The delegation that came along; otherwise the stored one is used. */
  delegation?: string | undefined;
  timezone?: string | undefined;
  secrets?: RuntimeContext['secrets'];
  /** What limits per client address count it by. */
  client?: string | undefined;
  /** The socket of the tab that sent it: requests to run client tools go there first. */
  socketId?: string | undefined;
  /** Called with how the sender stands against the send limit, before a message over it is refused. */
  onCounted?(standing: RateStanding): void;
}

/** A message of an authenticated sender; its body is valid. */
export interface OpenMessage extends Sender {
  sessionId: string;
  /** Its `message` may be empty where `results` or `earlier` say what the run continues with. */
  body: SendMessage;
  callerTools?: CallerTool[] | undefined;
  results?: CallerResult[] | undefined;
  earlier?: EarlierMessage[] | undefined;
}

/**
 * A tool that the caller runs: the run ends at its call with `finish: tool_calls`, and a later message of the session brings
 * the result. A tool of the agent with the same name has precedence.
 */
export type CallerTool = BrowserTool;

/** The result of a call that the last run of the session handed to its caller. */
export interface CallerResult {
  toolCallId: string;
  output?: unknown;
  /** In place of a result, in words for the model. */
  error?: string | undefined;
}

/**
 * A message of the conversation so far, as a caller tells it who keeps conversations itself. Only the model reads it: it
 * loads no capability and answers no approval.
 */
export type EarlierMessage = Pick<Message, 'type' | 'content' | 'toolCalls'>;

/** An event of a run with its number, from 1 without gaps. */
export type RunEvent = SseEvent & { id: number };

/** A run as a stream. It continues when nobody reads it. */
export interface AgentRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly requestId: string;
  /** The id of the answer. */
  readonly messageId: string;
  /** The events after number `after`, on whichever instance the run is; the last one is `done`. Stops when `signal` fires. */
  events(options?: { after?: number; signal?: AbortSignal }): AsyncIterable<RunEvent>;
  /** The answer once the run has ended. */
  answer(signal?: AbortSignal): Promise<Message>;
  /** Stops the run, also where it waits behind another; false where it has ended. */
  abort(): Promise<boolean>;
}
