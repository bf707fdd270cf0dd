import { AppError, type LiveRunStatus, type SseEvent } from '@palaver/contract';
import type { LiveRunReply } from '@palaver/contract/internal';
import type { Broadcast } from '../cluster/broadcast.ts';
import type { TurnEnd } from '../plugins/middleware.ts';
import type { InterruptedRun, StoredStep } from '../store/interrupted-runs.ts';
import type { OwnedRun, SendKey } from '../store/run-records.ts';
import { beginRun, type KnownRun } from './begin-run.ts';
import { type Begun, type CarryOutParts, carryOutRun } from './carry-out-run.ts';
import { keepFrames } from './keep-frames.ts';
import { createLiveRuns, type LiveRun } from './live-runs.ts';
import { createRun, type Run, type RunIds } from './run.ts';
import type { RunApprovals } from './run-approvals.ts';
import { toStoredInput } from './run-input.ts';
import type { SessionClients } from './session-clients.ts';
import { createSessionQueue } from './session-queue.ts';
import { type SettleParts, settleRun } from './settle-run.ts';
import { RunCancelled } from './stream-error.ts';
import type { Turn } from './turn.ts';
import { toTurnEnd } from './turn-end.ts';

export interface TurnHubParts
  extends Omit<CarryOutParts, 'queue' | 'approvals'>,
    Omit<SettleParts, 'closeBy' | 'reserve' | 'onStoredLater' | 'onTurnEnd'> {
  /** The name of this instance, new at every start. */
  instance: string;
  broadcast: Broadcast;
  /** The time of messages: that of the database, where instances share one. */
  now?(): number;
  clients: Pick<SessionClients, 'notify'>;
  approvals: Pick<RunApprovals, 'ask' | 'wait' | 'ofRun' | 'signedFor' | 'refuse' | 'pending'>;
  /** A run that was aborted or released is not of this instance: it may have no owner any more. */
  onElsewhere?(): void;
  /** Called at the end of every turn handed in, also of one that could not begin, before its reader gets `done`. Never rejects. */
  onTurnEnd?(end: TurnEnd): Promise<void>;
}

export type TurnHub = ReturnType<typeof createTurnHub>;

export interface AbortOptions {
  /** This run, also where it waits behind another. */
  runId?: string | undefined;
  /** How long ago the request arrived. */
  elapsedMs?: number;
}

interface Start {
  ids: RunIds;
  status: LiveRunStatus;
  owned: OwnedRun;
  /** Frames and steps of an earlier owner. */
  earlier: string;
  steps: StoredStep[];
  userMessageId?: string;
}

/** The time to store an end, and as much again. */
const overdueMs = 30_000;
/** Of the time a shutdown has, what is kept for storing ends. */
const closingStoreMs = 1_500;

/** The one place turns go through: one at a time per session, numbered events, abort, and runs that outlive connections. */
export function createTurnHub(parts: TurnHubParts) {
  const { runs, broadcast, clients, logger, instance, now = Date.now } = parts;
  const live = createLiveRuns();
  const queue = createSessionQueue({ runs, broadcast, live });
  const active = new Set<Promise<void>>();
  let closeBy = Number.POSITIVE_INFINITY;
  const isClosing = () => Number.isFinite(closeBy);
  const { reserve } = live;
  const settling: SettleParts = { ...parts, closeBy: () => closeBy, reserve, onStoredLater: queue.release };

  async function submit(turn: Turn, send?: SendKey): Promise<Run | KnownRun> {
    try {
      if (isClosing()) throw new AppError('UNAVAILABLE', 'The service is restarting. Please send it again.');
      const begun = await beginRun(turn, { runs, instance, send, now: now(), reserve });
      if ('known' in begun) {
        await parts.onTurnEnd?.(toTurnEnd(turn));
        return begun;
      }
      const { aborted, ...own } = begun;
      if (own.status === 'queued') await refuseApprovals(own.ids);
      const run = start(turn, { ...own, earlier: '', steps: [] });
      for (const runId of aborted) stop(runId);
      return run;
    } catch (error) {
      await parts.onTurnEnd?.(toTurnEnd(turn));
      throw error;
    }
  }

  /** Refuses what the session waits for. The new run is stored by now: a fault here must not leave it without an owner. */
  async function refuseApprovals({ sessionId, runId }: RunIds): Promise<void> {
    await parts.approvals
      .refuse(sessionId)
      .catch((error) => logger.warn({ err: error, runId }, 'the approvals of a session could not be refused'));
  }

  /** Continues a run whose owner died or handed it over, where `claim` gives it to this instance. */
  async function takeOver(
    interrupted: InterruptedRun & { turn: Turn; frames: string; steps: StoredStep[] },
    claim: () => Promise<number | undefined>,
  ): Promise<boolean> {
    const { runId, sessionId, userDid, requestId, messageId, turn, status, frames, steps } = interrupted;
    const ids = { runId, sessionId, userDid, requestId, messageId };
    const leave = reserve(runId);
    try {
      const epoch = await claim();
      if (epoch === undefined) return false;
      start(turn, { ids, status, owned: { runId, epoch }, earlier: frames, steps });
      return true;
    } finally {
      leave();
    }
  }

  function start(turn: Turn, { ids, owned, earlier, userMessageId, ...begun }: Start): Run {
    const { runId, sessionId, requestId, messageId } = ids;
    const run = createRun(ids, { onEvent: (event) => notifyClients(clients, sessionId, event), earlier, now: now() });
    const stored = run.frames.length;
    if (stored === 0) run.emit('run', { runId, sessionId, requestId, messageId, userMessageId });
    const frames = keepFrames(run, owned, {
      runs,
      broadcast,
      logger,
      stored,
      onNewOwner: () => run.cancel(new RunCancelled('new-owner')),
    });
    const entry: LiveRun = {
      run,
      turn,
      owned,
      frames,
      isHeld: false,
      canMove: toStoredInput(turn) !== null,
      startedAt: performance.now(),
    };
    live.add(entry);
    const work = carryOut(entry, begun)
      .catch((error) => logger.error({ err: error, runId }, 'a run ended with a fault of its own'))
      .finally(() => active.delete(work));
    active.add(work);
    return run;
  }

  async function carryOut(entry: LiveRun, begun: Begun): Promise<void> {
    const { sessionId, messageId } = entry.run;
    const outcome = await carryOutRun(entry, begun, { ...parts, queue });
    if (outcome === 'moved' || (await settleRun(entry, settling)) === 'moved') return live.leave(entry);
    live.retire(entry);
    clients.notify(sessionId, 'message_cache_invalidation', { sessionId, messageId });
    queue.release(sessionId);
  }

  /**
   * Stops the turn in flight, or the run that is named, on whichever instance it runs or waits; those that wait behind it
   * follow. True is returned for a run that ends as aborted: the database has noted it.
   */
  async function abort(sessionId: string, { runId, elapsedMs = 0 }: AbortOptions = {}): Promise<boolean> {
    const waiting = await runs.live(sessionId);
    const stopped = runId === undefined ? waiting[0] : waiting.find((run) => run.runId === runId);
    if (!stopped || !(await runs.requestAbort(stopped.runId, elapsedMs))) return false;
    stop(stopped.runId);
    return true;
  }

  /** Ends a run whose abort the database has noted. */
  function stop(runId: string): void {
    if (live.get(runId)) live.cancel(runId);
    else {
      broadcast.publish({ kind: 'abort', runId });
      parts.onElsewhere?.();
    }
  }

  broadcast.onMessage((message) => {
    switch (message.kind) {
      case 'abort':
        return live.cancel(message.runId);
      case 'drop':
        return live.drop(message.sessionId);
      case 'follow':
        return live.get(message.runId)?.frames.follow();
    }
  });

  return {
    /** Takes a turn in, or gives the run that was begun with the same key before. */
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

    /**
     * Cancels runs of this instance whose abort was confirmed: the broadcast of it may have been lost. Releases runs that
     * the database gives to this instance and that are not here: the reply to the write that did so was lost.
     */
    async checkOwned(): Promise<void> {
      for (const { isAborting, ...owned } of await runs.ofInstance(instance)) {
        if (isAborting) live.cancel(owned.runId);
        if (live.isOwn(owned.runId) || !(await parts.release?.(owned))) continue;
        logger.warn({ runId: owned.runId }, 'a run that nobody carried out was released');
        parts.onElsewhere?.();
      }
    },

    /** Stops and forgets everything of a session that is going away. */
    drop(sessionId: string): void {
      live.drop(sessionId);
      broadcast.publish({ kind: 'drop', sessionId });
    },

    isClosing,
    /** How many runs are live here. */
    size: live.size,
    /** How many of them should have ended by now, storing included. */
    countOverdue: () => live.countOlderThan(parts.turnTimeoutMs + overdueMs),

    /**
     * Takes nothing new in and lets turns finish for a while. What is left moves to another instance where there is one and
     * nothing would be repeated, and otherwise ends with what it has.
     */
    async close(graceMs: number, canMove = false): Promise<void> {
      closeBy = Date.now() + graceMs + closingStoreMs;
      const moving = ({ canMove: isPossible, isHeld }: LiveRun) => canMove && isPossible && !isHeld;
      for (const entry of live.all()) {
        const { run } = entry;
        if (run.status === 'queued' && moving(entry)) run.cancel(new RunCancelled('handover'));
        // It waits in the database: whoever has the answer continues it.
        if (run.status === 'waiting') run.cancel(new RunCancelled(entry.canMove ? 'handover' : 'shutdown'));
      }
      const late = setTimeout(() => {
        for (const entry of live.all()) entry.run.cancel(new RunCancelled(moving(entry) ? 'handover' : 'shutdown'));
      }, graceMs);
      while (active.size > 0) await Promise.allSettled(active);
      clearTimeout(late);
    },
  };
}

/** The other clients of the user see that a turn has begun and what it shows. */
function notifyClients(clients: Pick<SessionClients, 'notify'>, sessionId: string, { name, data }: SseEvent): void {
  if (name === 'run') clients.notify(sessionId, 'message_cache_invalidation', { sessionId });
  switch (name) {
    case 'tool_call':
    case 'approval_request':
    case 'render_component':
    case 'router_update':
      clients.notify(sessionId, name, data as never);
  }
}
