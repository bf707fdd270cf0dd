import { randomUUID } from 'node:crypto';
import { agentLimits } from '@palaver/contract';
import type { FrameLog } from './frame-log.ts';
import { createMemoryQueue, type SessionQueue } from './session-queue.ts';

/** What one instance tells all others about a session. */
export interface PeerMessage {
  kind: 'abort' | 'drop';
  sessionId: string;
}

/** A page of a user that looks at a session, by its socket. */
export interface Page {
  sessionId: string;
  userDid: string;
  socketId: string;
}

/** Which pages are connected, over all instances. */
export interface Pages {
  add(page: Page): Promise<void>;
  remove(page: Page): Promise<void>;
  /** The socket of the page that connected last. */
  latest(of: Omit<Page, 'socketId'>): Promise<string | undefined>;
}

/** How the instances of one deployment work together. Alone, an instance is its own and only peer. */
export interface Peers {
  /** The name of this instance, new at every start. */
  readonly instance: string;
  readonly queue: SessionQueue;
  readonly pages: Pages;
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
    pages: createMemoryPages(),
    isAlive: async (name) => name === instance,
    tell() {},
    onTold() {},
    publishFrame() {},
    followRun: async () => undefined,
    async forgetRun() {},
    async close() {},
  };
}

function createMemoryPages(): Pages {
  const pages = new Map<string, string[]>();
  const keyOf = ({ sessionId, userDid }: Omit<Page, 'socketId'>) => `${sessionId} ${userDid}`;
  return {
    async add(page) {
      pages.set(keyOf(page), [...(pages.get(keyOf(page)) ?? []), page.socketId]);
    },
    async remove(page) {
      const left = (pages.get(keyOf(page)) ?? []).filter((socketId) => socketId !== page.socketId);
      if (left.length > 0) pages.set(keyOf(page), left);
      else pages.delete(keyOf(page));
    },
    latest: async (of) => pages.get(keyOf(of))?.at(-1),
  };
}
