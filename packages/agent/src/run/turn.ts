import type { SendMessage, ToolCall } from '@palaver/contract';
import type { CallerTool, DirectCall, EarlierMessage } from '../plugins/agent-run.ts';
import { sizeOf } from '../plugins/check-arguments.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import type { TurnBlobs } from './turn-blobs.ts';

export interface TurnUser {
  did: string;
  /** The user's delegation to this agent, for calls downstream. */
  delegation?: string | undefined;
}

/** Everything a turn needs to know, checked before it is queued. */
export interface Turn {
  /** Unique, where a request id may be repeated by its client. */
  sendId: string;
  session: { sessionId: string; roomId: string; isNamed: boolean };
  user: TurnUser;
  requestId: string;
  body: SendMessage;
  callerTools?: CallerTool[] | undefined;
  /** Calls of an earlier run that the caller has answered. */
  results?: ToolCall[] | undefined;
  /** The conversation before this session, as the caller sends it. */
  earlier?: EarlierMessage[] | undefined;
  /** What the model reads in this turn alone. */
  context?: string[] | undefined;
  call?: DirectCall | undefined;
  model: string;
  timezone: string | undefined;
  /** The socket of the tab that sent the message: it runs the client tools. */
  socketId?: string | undefined;
  /** What limits per client address count it by. */
  client?: string | undefined;
  /** Who opened it finds it again: where the service stops, the next process continues it. */
  isKeyed?: boolean | undefined;
  secrets: RuntimeContext['secrets'];
  blobs: TurnBlobs;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

/** By the id of the model. */
export type UsageByModel = Record<string, Usage>;

/** About the bytes of what its message brought; files are counted where they are read. */
export function turnSizeOf({ body, callerTools, results, earlier, context, call, user, secrets }: Turn): number {
  return sizeOf([body, callerTools, results, earlier, context, call, user, secrets]);
}

/** Without what is stored with the run. */
export function withoutInput(turn: Turn): Turn {
  const body = { message: '', stream: turn.body.stream, returnAllMessages: false };
  const nothing = {
    callerTools: undefined,
    results: undefined,
    earlier: undefined,
    context: undefined,
    call: undefined,
  };
  return { ...turn, ...nothing, body };
}

/** The field of `done`; none where no model was asked. */
export function toUsageField(usage: Usage): { usage?: Usage } {
  return usage.inputTokens + usage.outputTokens > 0 ? { usage: { ...usage } } : {};
}
