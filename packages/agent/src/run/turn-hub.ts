import { AppError, type LiveRunStatus } from '@palaver/contract';
import type { LiveRunReply } from '@palaver/contract/internal';
import type { TurnEnd } from '../plugins/middleware.ts';
import type { StoredStep } from '../store/interrupted-runs.ts';
import type { SendKey } from '../store/run-records.ts';
import { createRunAborter, type RunAborterParts } from './abort-runs.ts';
import { beginRun, type KnownRun } from './begin-run.ts';
import { closeRuns } from './close-runs.ts';
import { createLiveRuns, type RunLimits } from './live-runs.ts';
import type { Run, RunIds } from './run.ts';
import type { RunApprovals } from './run-approvals.ts';
import { createSessionQueue } from './session-queue.ts';
import { createRunStarter, type RunStarterParts } from './start-runs.ts';
import { type Turn, turnSizeOf } from './turn.ts';
import { toTurnEnd } from './turn-end.ts';

export interface TurnHubParts
  extends Omit<RunStarterParts, 'live' | 'queue' | 'closeBy' | 'approvals' | 'onTurnEnd'>,
    Pick<RunAborterParts, 'onElsewhere'> {
  limits?: RunLimits;
  /** The name of this instance, new at every start. */
  instance: string;
  approvals: Pick<RunApprovals, 'ask' | 'wait' | 'ofRun' | 'signedFor' | 'refuse' | 'pending'>;
  /** Called at the end of every submitted turn, also of one that could not begin, before its reader gets `done`. Never rejects. */
  onTurnEnd?(end: TurnEnd): Promise<void>;
}

/** A run of a dead owner as it was once this instance owned it. */
export interface ClaimedRun {
  epoch: number;
  status: LiveRunStatus;
  /** The stored frames, as text. */
  frames: string;
  steps: StoredStep[];
}

export type TurnHub = ReturnType<typeof createTurnHub>;

/** The time to store an end, twice. */
const overdueMs = 30_000;
/** The part of a shutdown's time that is reserved for storing ends. */
const closingStoreMs = 1_500;

/** Every turn goes through it: one at a time per session, numbered events, abort, and runs that outlive connections. */
export function createTurnHub(parts: TurnHubParts) {
  const { runs, broadcast, logger, instance, now = Date.now } = parts;
  const live = createLiveRuns(parts.limits);
  const { reserve } = live;
  const queue = createSessionQueue({ runs, broadcast, live, refuse: parts.approvals.refuse });
  let closeBy = Number.POSITIVE_INFINITY;
  const isClosing = () => Number.isFinite(closeBy);
  const { start, idle } = createRunStarter({ ...parts, live, queue, closeBy: () => closeBy });
  const { stop, abort, cancelAborted, drop } = createRunAborter({ ...parts, live });
  broadcast.onMessage((message) => {
    if (message.kind === 'follow') live.get(message.runId)?.frames.follow();
  });

  async function submit(turn: Turn, send?: SendKey): Promise<Run | KnownRun> {
    try {
      if (isClosing()) throw new AppError('UNAVAILABLE', 'The service is restarting. Please send it again.');
      const limit = live.findLimit(turn, turnSizeOf(turn));
      if (limit) throw limit;
      const begun = await beginRun(turn, { runs, instance, send, now: now(), reserve });
      if ('known' in begun) {
        turn.blobs.release();
        await parts.onTurnEnd?.(toTurnEnd(turn));
        return begun;
      }
      const { aborted, ...own } = begun;
      const run = start(turn, { ...own, earlier: '', steps: [] });
      for (const runId of aborted) stop(runId);
      return run;
    } catch (error) {
      turn.blobs.release();
      await parts.onTurnEnd?.(toTurnEnd(turn));
      throw error;
    }
  }

  /** Continues a run whose owner died or handed it over, where `claim` gives it to this instance. */
  async function takeOver(
    { runId, sessionId, userDid, requestId, messageId }: RunIds,
    turn: Turn,
    claim: () => Promise<ClaimedRun | undefined>,
  ): Promise<boolean> {
    const ids = { runId, sessionId, userDid, requestId, messageId };
    const leave = reserve(runId);
    try {
      const claimed = await claim();
      if (!claimed) return false;
      const { epoch, status, frames, steps } = claimed;
      start(turn, { ids, status, owned: { runId, epoch }, earlier: frames, steps });
      return true;
    } finally {
      leave();
    }
  }

  return {
    /** Submits a turn, or returns the run that was begun with the same key before. */
    submitOnce: submit,
    submit: async (turn: Turn): Promise<Run> => (await submit(turn)) as Run,
    takeOver,

    /** A run of this process, live or ended in the last minutes. */
    find: live.find,

    async live(sessionId: string): Promise<LiveRunReply['run']> {
      const [first] = await runs.live(sessionId);
      if (first?.status !== 'waiting') return first ?? null;
      return { ...first, approvals: await parts.approvals.pending(first.runId) };
    },

    abort,
    drop,

    /** Cancels aborted runs. Releases runs of this instance that are not here: the reply to the write that began them was lost. */
    async checkOwned(): Promise<void> {
      const all = await runs.ofInstance(instance);
      cancelAborted(all);
      for (const { isAborting: _, ...owned } of all) {
        if (live.isOwn(owned.runId) || !(await parts.release?.(owned))) continue;
        logger.warn({ runId: owned.runId }, 'a run that nobody carried out was released');
        parts.onElsewhere?.();
      }
    },

    isClosing,
    /** Whether runs of other instances can continue here. */
    hasRoom: live.hasRoom,
    /** How many runs are live here. */
    size: live.size,
    /** How many of them should have ended by now, including the time to store them. */
    countOverdue: () => live.countOlderThan(parts.turnTimeoutMs + overdueMs),

    /** Accepts no new turns and lets running ones finish; `canMove`: another instance can continue the rest. */
    async close(graceMs: number, canMove = false): Promise<void> {
      closeBy = Date.now() + graceMs + closingStoreMs;
      await closeRuns({ live, idle, graceMs, canMove });
    },
  };
}
