import { agentLimits } from '@palaver/contract';
import type { OwnedRun } from '../store/run-records.ts';
import type { FrameKeeper } from './keep-frames.ts';
import type { Run } from './run.ts';
import { RunCancelled } from './stream-error.ts';
import type { Turn } from './turn.ts';

/** A live run of this instance. */
export interface LiveRun {
  run: Run;
  turn: Turn;
  owned: OwnedRun;
  frames: FrameKeeper;
  /** Tools are running that must not run again. */
  isHeld: boolean;
  canMove: boolean;
  /** Or resumed, by `performance.now()`. */
  startedAt: number;
}

/** Most readers have read to the end by then. */
const packAfterMs = 3_000;

export type LiveRuns = ReturnType<typeof createLiveRuns>;

/** The runs of this process: live, or ended in the last minutes. */
export function createLiveRuns() {
  const known = new Map<string, Run>();
  const live = new Map<string, LiveRun>();
  const reserved = new Set<string>();

  return {
    /** Before a write that may make this instance the owner of a run, or that ends it late: until then it is not live here. */
    reserve(runId: string): () => void {
      reserved.add(runId);
      return () => void reserved.delete(runId);
    },
    isOwn: (runId: string): boolean => live.has(runId) || reserved.has(runId),
    add(entry: LiveRun): void {
      reserved.delete(entry.run.runId);
      known.set(entry.run.runId, entry.run);
      live.set(entry.run.runId, entry);
    },
    /** Live, or ended in the last minutes. */
    find: (runId: string): Run | undefined => known.get(runId),
    get: (runId: string): LiveRun | undefined => live.get(runId),
    all: (): LiveRun[] => [...live.values()],
    isInSession: (sessionId: string): boolean => [...live.values()].some(({ run }) => run.sessionId === sessionId),
    size: (): number => live.size,
    /** Those of a user, runs that wait included. */
    countOf: (userDid: string): number => [...live.values()].filter(({ run }) => run.userDid === userDid).length,
    countOlderThan: (ms: number): number =>
      [...live.values()].filter(({ run, startedAt }) => run.status !== 'waiting' && performance.now() - startedAt > ms)
        .length,

    cancel(runId: string): void {
      live.get(runId)?.run.cancel(new RunCancelled('user'));
    },

    /** The run has ended; it can be read for some more minutes. */
    retire({ run }: LiveRun): void {
      live.delete(run.runId);
      setTimeout(() => void run.frames.pack(), packAfterMs).unref();
      setTimeout(() => known.delete(run.runId), agentLimits.endedRunRetentionMs).unref();
    },

    /** The run continues on another instance: readers here come back for it. */
    leave({ run }: LiveRun): void {
      live.delete(run.runId);
      known.delete(run.runId);
      run.leave(new RunCancelled('new-owner'));
    },

    /** Stops and forgets everything of a session. */
    drop(sessionId: string): void {
      for (const { run } of live.values()) if (run.sessionId === sessionId) run.cancel(new RunCancelled('user'));
      for (const run of known.values()) if (run.sessionId === sessionId) known.delete(run.runId);
    },
  };
}
