import type { SendMessage } from '@palaver/contract';
import type { BlobStore, RuntimeContext } from '../plugins/runtime-context.ts';

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
  model: string;
  timezone: string | undefined;
  /** The socket of the tab that sent the message: it runs the client tools. */
  socketId?: string | undefined;
  secrets: RuntimeContext['secrets'];
  blobs: BlobStore;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}
