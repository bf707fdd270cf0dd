import { AppError, agentLimits } from '@palaver/contract';
import { LRUCache } from 'lru-cache';
import type { OwnedRun } from '../store/run-records.ts';
import type { FrameKeeper } from './keep-frames.ts';
import type { Run } from './run.ts';
import { RunCancelled, TurnError } from './stream-error.ts';
import type { Turn } from './turn.ts';

/** A live run of this instance. */
export interface LiveRun {
  run: Run;
  turn: Turn;
  owned: OwnedRun;
  frames: FrameKeeper;
  /** Tools are running that must not run again. */
  isHeld: boolean;
  /** Its session is gone. */
  isDropped?: boolean;
  canMove: boolean;
  /** Or resumed, by `performance.now()`. */
  startedAt: number;
}

/** What the runs of one instance may take. Frames are counted by their characters. */
export interface RunLimits {
  live: number;
  livePerUser: number;
  /** Of live runs; an answer of 100,000 words has about 15 MiB. */
  frames: number;
  framesPerUser: number;
  /** Of ended runs. What is beyond is read from the database. */
  endedFrames: number;
}

/** What a run takes beside its frames. */
const runSize = 4 * 1024;
const mebibyte = 1024 * 1024;
const defaultLimits: RunLimits = {
  live: agentLimits.liveRuns,
  livePerUser: agentLimits.liveRunsPerUser,
  frames: 96 * mebibyte,
  framesPerUser: 32 * mebibyte,
  endedFrames: 32 * mebibyte,
};

const tooLong = new TurnError(
  'TURN_LIMIT_EXCEEDED',
  'The answers under way are too long. Please ask for less at once.',
  {
    kind: 'limit',
    retryable: true,
  },
);

export type LiveRuns = ReturnType<typeof createLiveRuns>;

/** The runs of this process: live, or ended in the last minutes. */
export function createLiveRuns(limits: RunLimits = defaultLimits) {
  const ended = new LRUCache<string, Run>({
    maxSize: limits.endedFrames,
    ttl: agentLimits.endedRunRetentionMs,
    ttlAutopurge: true,
    dispose: (run, _id, reason) => {
      if (reason === 'evict' || reason === 'expire') run.frames.drop();
    },
  });
  const live = new Map<string, LiveRun>();
  const reserved = new Set<string>();
  const size = (entries: LiveRun[]) => entries.reduce((sum, { run }) => sum + run.frames.size, 0);

  /** Ends the largest runs until the others have room; what a run has said so far is kept with its answer. */
  function makeRoom(entries: LiveRun[], limit: number): void {
    const going = entries
      .filter(({ run }) => !run.signal.aborted)
      .sort((a, b) => b.run.frames.size - a.run.frames.size);
    for (let left = size(going); left > limit; ) {
      const [largest] = going.splice(0, 1);
      if (!largest) return;
      left -= largest.run.frames.size;
      largest.run.cancel(tooLong);
    }
  }

  return {
    /** Before a write that may make this instance the owner of a run, or that ends it late: until then it is not live here. */
    reserve(runId: string): () => void {
      reserved.add(runId);
      return () => void reserved.delete(runId);
    },
    isOwn: (runId: string): boolean => live.has(runId) || reserved.has(runId),
    add(entry: LiveRun): void {
      reserved.delete(entry.run.runId);
      live.set(entry.run.runId, entry);
    },
    /** Live, or ended in the last minutes. */
    find(runId: string): Run | undefined {
      const entry = live.get(runId);
      return entry?.isDropped ? undefined : (entry?.run ?? ended.get(runId));
    },
    get: (runId: string): LiveRun | undefined => live.get(runId),
    all: (): LiveRun[] => [...live.values()],
    isInSession: (sessionId: string): boolean => [...live.values()].some(({ run }) => run.sessionId === sessionId),
    size: (): number => live.size,
    /** Throws where a run of this user would be one too many; runs that wait count too. */
    checkRoom(userDid: string): void {
      if (live.size >= limits.live)
        throw new AppError('UNAVAILABLE', 'Too many answers are under way. Please send it again in a moment.');
      if ([...live.values()].filter(({ run }) => run.userDid === userDid).length >= limits.livePerUser)
        throw new AppError(
          'LIMIT_REACHED',
          `You have ${limits.livePerUser} answers under way. Wait for one, or answer what they ask.`,
        );
    },
    /** Called when the frames of a run have grown by a good deal. */
    checkSize(userDid: string): void {
      const all = [...live.values()];
      makeRoom(
        all.filter(({ run }) => run.userDid === userDid),
        limits.framesPerUser,
      );
      makeRoom(all, limits.frames);
    },
    countOlderThan: (ms: number): number =>
      [...live.values()].filter(({ run, startedAt }) => run.status !== 'waiting' && performance.now() - startedAt > ms)
        .length,

    cancel(runId: string): void {
      live.get(runId)?.run.cancel(new RunCancelled('user'));
    },

    /** The run has ended; it can be read for some more minutes. */
    retire({ run, isDropped }: LiveRun): void {
      live.delete(run.runId);
      if (!isDropped) ended.set(run.runId, run, { size: run.frames.size + runSize });
    },

    /** The run continues on another instance: readers here come back for it. */
    leave({ run }: LiveRun): void {
      live.delete(run.runId);
      run.leave(new RunCancelled('new-owner'));
    },

    /** Stops and forgets everything of a session. */
    drop(sessionId: string): void {
      for (const entry of live.values()) {
        if (entry.run.sessionId !== sessionId) continue;
        entry.isDropped = true;
        entry.run.cancel(new RunCancelled('user'));
      }
      for (const run of ended.values()) if (run.sessionId === sessionId) ended.delete(run.runId);
    },
  };
}
