import type { LanguageModelV4ToolChoice } from '@ai-sdk/provider';
import type { Approval, BrowserTool, Message, RunStatus, SendMessage, SseEvent } from '@palaver/contract';
import type { RateStanding } from '@palaver/service-kit';
import type { RuntimeContext } from './runtime-context.ts';
import type { JsonSchema } from './tool.ts';

/** Who sends a message, and the context of the request. */
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
  /** Called with what is left of the sender's send limit, if there is one, before a message over it is refused. */
  onCounted?(standing: RateStanding | undefined): void;
}

/** A message of an authenticated sender; its body is valid. */
export interface OpenMessage extends Sender {
  sessionId: string;
  /** Opened again with the same key it is the same run; where the service stops, the next process continues it. */
  key?: string | undefined;
  /** Its `message` may be empty where `results` or `earlier` say what the run continues with. */
  body: SendMessage;
  callerTools?: CallerTool[] | undefined;
  results?: CallerResult[] | undefined;
  earlier?: EarlierMessage[] | undefined;
  /** What the model reads with this message alone: it is not stored in the conversation, and later turns do not have it. */
  context?: string[] | undefined;
  call?: DirectCall | undefined;
  answer?: AnswerForm | undefined;
}

/** How the answer to a message is asked for. */
export interface AnswerForm {
  /** The model is asked for JSON of this schema, and an answer of another form fails the run. */
  schema?: JsonSchema | undefined;
  /** For the first step. */
  toolChoice?: LanguageModelV4ToolChoice | undefined;
}

/** A tool that the caller names itself: no language model is asked, and the result is the answer. */
export type DirectCall = { name: string; args: Record<string, unknown> };

/** A tool that the caller runs: the run ends with `finish: tool_calls`. The agent's own tool of that name wins. */
export type CallerTool = BrowserTool;

/** The result of a call that the last run of the session handed to its caller. */
export interface CallerResult {
  toolCallId: string;
  output?: unknown;
  /** In place of a result, in words for the model. */
  error?: string | undefined;
}

/** An earlier message from a caller that stores conversations. It loads no capability and answers no approval. */
export type EarlierMessage = Pick<Message, 'type' | 'content' | 'toolCalls'>;

/** An event of a run with its number, from 1 without gaps. */
export type RunEvent = SseEvent & { id: number };

/** A run in the list of its user's runs. */
export interface RunSummary {
  runId: string;
  sessionId: string;
  status: RunStatus;
  /** When it got this status. */
  changedAt: string;
}

/** Which of a user's runs are listed: those that changed last first. */
export interface RunQuery {
  userDid: string;
  sessionId?: string | undefined;
  statuses?: RunStatus[] | undefined;
  /** Only those that changed at this time or later. */
  since?: Date | undefined;
  /** The last run of the page before. */
  after?: Pick<RunSummary, 'runId' | 'changedAt'> | undefined;
  limit: number;
}

/** A run as a stream. It continues when nobody reads it. */
export interface AgentRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly requestId: string;
  /** The id of the answer. */
  readonly messageId: string;
  /** The events after number `after`, on whichever instance the run is; the last one is `done`. Stops when `signal` fires. */
  events(options?: { after?: number; signal?: AbortSignal }): AsyncIterable<RunEvent>;
  answer(signal?: AbortSignal): Promise<Message>;
  /** Where it stands now; `queued` while it waits behind another. */
  state(): Promise<Pick<RunSummary, 'status' | 'changedAt'>>;
  question(): Promise<Message | undefined>;
  /** The number of its newest event so far. */
  lastEvent(): Promise<number>;
  /** What its user has to approve before it continues. */
  approvals(): Promise<Approval[]>;
  /** Stops the run, also where it waits behind another; false if it has ended. */
  abort(): Promise<boolean>;
}
