import { randomUUID } from 'node:crypto';
import { agentLimits } from '@palaver/contract';
import type { FrameLog } from './frame-log.ts';
import { createMemoryQueue, type SessionQueue } from './session-queue.ts';

/** What one instance tells all others about a session. */
export interface PeerMessage {
  kind: 'abort' | 'drop';
  sessionId: string;
}

/** How the instances of one deployment work together. Alone, an instance is its own and only peer. */
export interface Peers {
  /** The name of this instance, new at every start. */
  readonly instance: string;
  readonly queue: SessionQueue;
  isAlive(instance: string): Promise<boolean>;
  tell(message: PeerMessage): void;
  onTold(handler: (message: PeerMessage) => void): void;
  /** Makes a frame of a run here readable by the others; undefined says that it was the last. */
  publishFrame(runId: string, frame: string | undefined): void;
  /** The frames of a run of another instance, followed to their end; undefined where there are none. */
  followRun(runId: string): Promise<FrameLog | undefined>;
  /** Removes what is left of a run whose instance died. */
  forgetRun(runId: string): Promise<void>;
  close(): Promise<void>;
}

export function createLonePeers(): Peers {
  const instance = randomUUID();
  return {
    instance,
    queue: createMemoryQueue(agentLimits.queuedTurnsPerSession),
    isAlive: async (name) => name === instance,
    tell() {},
    onTold() {},
    publishFrame() {},
    followRun: async () => undefined,
    async forgetRun() {},
    async close() {},
  };
}
