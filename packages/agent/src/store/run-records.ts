import type { EndedRunStatus, Message, RunStatus } from '@palaver/contract';
import type { StoredMessage } from './messages.ts';

export interface RunBegin {
  runId: string;
  sessionId: string;
  userDid: string;
  requestId: string;
  instance: string;
  model: string;
  question: StoredMessage;
  /** The id the answer will have. */
  answerId: string;
  /** What another instance needs to take over the run; null if it cannot. */
  input: string | null;
  /** The client's `Idempotency-Key` and what it was sent with. */
  send?: SendKey | undefined;
}

export interface SendKey {
  key: string;
  bodyHash: string;
}

export type BeginResult =
  /** `aborted`: the live runs whose messages it replaces. From now on they can only end as aborted. */
  | { kind: 'begun'; status: 'queued' | 'running'; epoch: number; aborted: string[] }
  /** The question that it replaces is not part of the conversation any more. */
  | { kind: 'replaced' }
  /** There is a message with the id of the question. */
  | { kind: 'taken' }
  /** As many wait as may wait. */
  | { kind: 'busy' }
  /** The session is not there any more. */
  | { kind: 'gone' }
  /** Its `Idempotency-Key` was used before. */
  | { kind: 'known'; runId: string; bodyHash: string };

/** A run of one owner: writes of an earlier owner have no effect. */
export interface OwnedRun {
  runId: string;
  epoch: number;
}

export interface Frames {
  first: number;
  last: number;
  body: string;
}

export interface RunEnd extends OwnedRun {
  sessionId: string;
  status: EndedRunStatus;
  answer: Message;
  usage: { inputTokens: number; outputTokens: number };
  /** Names the session if it has no name yet. */
  title: string | undefined;
  /** The frames that are not stored yet, `done` included. */
  toFrames(status: EndedRunStatus): Frames;
  /** Written for an owner that seems dead: its own end, should it come after all, replaces this one. */
  bySweep?: boolean;
}

export interface StepBegin extends OwnedRun {
  number: number;
  said: number;
  body: string;
}

export interface StepEnd extends OwnedRun {
  number: number;
  outcomes: string;
}

export interface StoredRun {
  runId: string;
  sessionId: string;
  requestId: string;
  messageId: string;
  status: RunStatus;
  usage: { inputTokens: number; outputTokens: number };
}
