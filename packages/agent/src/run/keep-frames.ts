import type { EndedRunStatus } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { Broadcast } from '../cluster/broadcast.ts';
import type { Frames, OwnedRun } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { Run } from './run.ts';

const storeMs = 1_000;
/** While a reader on another instance follows. */
const followedMs = 100;
/** Followers say every few seconds that they are still there. */
const followedForMs = 12_000;

export interface FrameKeeperParts {
  runs: Pick<RunStore, 'addFrames' | 'state'>;
  broadcast: Pick<Broadcast, 'publish'>;
  logger: Logger;
  /** How many frames an earlier owner has stored. */
  stored: number;
  /** Another instance owns the run now. */
  onNewOwner(): void;
}

export type FrameKeeper = ReturnType<typeof keepFrames>;

/** Stores the frames of a run in batches while it runs, so that they outlive this process and are read by other instances. */
export function keepFrames(run: Run, owned: OwnedRun, parts: FrameKeeperParts) {
  let { stored } = parts;
  let storing: Promise<void> | undefined;
  let followedUntil = 0;
  let isFailing = false;
  let timer = setInterval(flush, storeMs);

  function unstored(): Frames {
    const { text, last } = run.frames.read(stored, Number.POSITIVE_INFINITY);
    return { first: stored + 1, last, body: text };
  }

  function toLastFrames(status: EndedRunStatus): Frames {
    const { first, last, body } = unstored();
    return run.frames.ended ? { first, last, body } : { first, last: last + 1, body: body + run.toDone(status) };
  }

  async function store(): Promise<void> {
    const frames = unstored();
    try {
      if (await parts.runs.addFrames(owned, frames)) {
        stored = frames.last;
        if (Date.now() < followedUntil) announce(frames);
      } else if (((await parts.runs.state(owned.runId))?.epoch ?? owned.epoch) > owned.epoch) parts.onNewOwner();
      isFailing = false;
    } catch (error) {
      if (!isFailing) parts.logger.warn({ err: error, runId: run.runId }, 'frames could not be stored; they are kept');
      isFailing = true;
    }
  }

  function announce({ first, body }: Frames): void {
    parts.broadcast.publish({ kind: 'frames', runId: run.runId, first, body });
  }

  async function flush(): Promise<boolean> {
    const { length } = run.frames;
    while (length > stored) {
      const before = stored;
      storing ??= store().finally(() => {
        storing = undefined;
      });
      await storing;
      if (stored === before) return false;
    }
    return true;
  }

  function setPace(ms: number): void {
    clearInterval(timer);
    timer = setInterval(() => {
      if (ms === followedMs && Date.now() >= followedUntil) setPace(storeMs);
      else void flush();
    }, ms);
  }

  return {
    /** Stores what is not stored yet; false if that is not possible now. */
    flush,
    /** A reader on another instance is following. */
    follow(): void {
      if (Date.now() >= followedUntil) setPace(followedMs);
      followedUntil = Date.now() + followedForMs;
      void flush();
    },
    /** The last frames, to be stored with the end of the run. */
    toLastFrames,
    /** No more frames are stored; resolves when none is on its way. */
    async stop(): Promise<void> {
      clearInterval(timer);
      while (storing) await storing;
    },
    /** The end is stored: followers are sent the last frames. */
    announceEnd(status: EndedRunStatus): void {
      if (Date.now() < followedUntil) announce(toLastFrames(status));
    },
  };
}
