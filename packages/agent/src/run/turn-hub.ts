import { setImmediate as afterThisTick, setTimeout as sleep } from 'node:timers/promises';
import {
  AppError,
  type Attachment,
  agentLimits,
  type LiveRunStatus,
  type Message,
  type MessageAttachment,
  type SseEvent,
} from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { Broadcast, BroadcastMessage } from '../cluster/broadcast.ts';
import type { TurnEnd } from '../plugins/plugin.ts';
import type { InterruptedRun, StoredStep } from '../store/interrupted-runs.ts';
import type { OwnedRun, RunEnd, RunStore, SendKey } from '../store/runs.ts';
import { type FrameKeeper, keepFrames } from './keep-frames.ts';
import { rejectOnAbort } from './reject-on-abort.ts';
import { createRun, type Run, type RunIds } from './run.ts';
import { toStoredInput } from './run-input.ts';
import { hasEnded } from './run-state.ts';
import { createRunSteps, type RunSteps } from './run-steps.ts';
import { toSessionTitle } from './session-title.ts';
import { createSessionWaiters } from './session-waiters.ts';
import { storeEnd } from './store-end.ts';
import { RunCancelled, toStreamError } from './stream-error.ts';
import type { Turn, Usage } from './turn.ts';

export interface Work {
  turn: Turn;
  run: Run;
  /** What the model uses is added step by step, so that it is known of an aborted turn as well. */
  usage: Usage;
  steps: RunSteps;
}

export interface TurnHubParts {
  /** The name of this instance, new at every start. */
  instance: string;
  broadcast: Broadcast;
  runs: RunStore;
  logger: Logger;
  turnTimeoutMs: number;
  /** How long the end of a run is tried to be stored. */
  storeEndMs?: number;
  /** Does the turn: streams events through `run.emit` until it resolves; must stop soon after `run.signal` fires. */
  execute(work: Work): Promise<void>;
  /** Gets every event of every run once. */
  onEvent(run: Run, event: SseEvent): void;
  onEnd(run: Run): void;
  /** An end could not be stored. */
  onNotStored?(): void;
  /** Called at the end of every turn handed in, also of one that could not begin, before its reader learns it. Never rejects. */
  onTurnEnd?(end: TurnEnd): Promise<void>;
  /** Gives a run up for another instance to take up; false where that is not possible. */
  release?(owned: OwnedRun): Promise<boolean>;
}

export type TurnHub = ReturnType<typeof createTurnHub>;

export interface AbortOptions {
  /** Only this run. */
  runId?: string | undefined;
  /** How long ago the request arrived. */
  elapsedMs?: number;
}

/** A live run of this instance. */
interface LiveRun {
  run: Run;
  turn: Turn;
  owned: OwnedRun;
  frames: FrameKeeper;
  /** Tools are running that must not run again. */
  isHeld: boolean;
  canMove: boolean;
}

interface Place {
  status: LiveRunStatus;
  owned: OwnedRun;
  /** Frames and steps of an earlier owner. */
  stored?: number;
  steps?: StoredStep[];
}

/** Most readers have read to the end by then. */
const packAfterMs = 3_000;
const defaultStoreEndMs = 15_000;
/** Of the time a shutdown has, what is kept for storing ends. */
const closingStoreMs = 1_500;

/** The one place turns go through: one at a time per session, numbered events, abort, and runs that outlive connections. */
export function createTurnHub(parts: TurnHubParts) {
  const { runs, broadcast, logger, instance } = parts;
  /** Live runs and those that ended in the last minutes. */
  const known = new Map<string, Run>();
  const live = new Map<string, LiveRun>();
  const waiters = createSessionWaiters();
  /** Sessions in which a run of another instance waits. */
  const awaited = new Set<string>();
  const active = new Set<Promise<void>>();
  let closing = false;
  let closeBy = Number.POSITIVE_INFINITY;

  async function submit(turn: Turn, send?: SendKey): Promise<Run | { known: { runId: string; bodyHash: string } }> {
    if (closing) return refuse(turn, new AppError('UNAVAILABLE', 'The service is restarting. Please send it again.'));
    const { sessionId } = turn.session;
    const ids = { runId: uuidv7(), sessionId, userDid: turn.user.did, requestId: turn.requestId, messageId: uuidv7() };
    const input = toStoredInput(turn);
    const stored = { ...ids, answerId: ids.messageId, instance, model: turn.model, question: toQuestion(turn), input };
    const begun = await runs.begin({ ...stored, send }).catch((error) => {
      void discard(ids.runId);
      return refuse(turn, error);
    });
    switch (begun.kind) {
      case 'busy':
        return refuse(
          turn,
          new AppError('SESSION_BUSY', 'Too many messages of this session are waiting. Wait for an answer first.'),
        );
      case 'gone':
        return refuse(turn, new AppError('SESSION_NOT_FOUND', 'There is no such session.'));
      case 'known':
        await parts.onTurnEnd?.(toTurnEnd(turn));
        return { known: { runId: begun.runId, bodyHash: begun.bodyHash } };
    }
    const run = createRun(ids, { onEvent: (event) => parts.onEvent(run, event) });
    run.emit('run', { runId: run.runId, sessionId, requestId: run.requestId });
    begin(turn, run, { status: begun.status, owned: { runId: run.runId, epoch: begun.epoch } });
    return run;
  }

  async function refuse(turn: Turn, error: unknown): Promise<never> {
    await parts.onTurnEnd?.(toTurnEnd(turn));
    throw error;
  }

  /** A begin whose outcome is unknown must not leave a run behind that nobody carries out. */
  async function discard(runId: string): Promise<void> {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      try {
        return await runs.discard(runId);
      } catch {
        await sleep(500 * (attempt + 1), undefined, { ref: false });
      }
    }
  }

  /** Continues a run whose owner died or handed it over. */
  function takeOver(
    interrupted: InterruptedRun & { turn: Turn; epoch: number; frames: string; steps: StoredStep[] },
  ): void {
    const { runId, sessionId, userDid, requestId, messageId, turn, epoch, frames, steps } = interrupted;
    const ids: RunIds = { runId, sessionId, userDid, requestId, messageId };
    const run = createRun(ids, { onEvent: (event) => parts.onEvent(run, event), earlier: frames });
    const stored = run.frames.length;
    if (stored === 0) run.emit('run', { runId, sessionId, requestId });
    begin(turn, run, { status: interrupted.status, owned: { runId, epoch }, stored, steps });
  }

  function begin(turn: Turn, run: Run, { status, owned, stored = 0, steps = [] }: Place): void {
    const frames = keepFrames(run, owned, {
      runs,
      broadcast,
      logger,
      stored,
      onNewOwner: () => run.cancel(new RunCancelled('new-owner')),
    });
    const entry: LiveRun = { run, turn, owned, frames, isHeld: false, canMove: toStoredInput(turn) !== null };
    known.set(run.runId, run);
    live.set(run.runId, entry);
    const work = carryOut(entry, status, steps)
      .catch((error) => logger.error({ err: error, runId: run.runId }, 'a run ended with a fault of its own'))
      .finally(() => active.delete(work));
    active.add(work);
  }

  async function carryOut(entry: LiveRun, status: LiveRunStatus, stored: StoredStep[]): Promise<void> {
    const { run, turn, owned, frames } = entry;
    const usage: Usage = { inputTokens: 0, outputTokens: 0 };
    const timeout = setTimeout(() => run.cancel(new RunCancelled('timeout')), parts.turnTimeoutMs);
    try {
      // The first frame goes out when this tick is over; what follows would hold it up.
      await afterThisTick();
      run.signal.throwIfAborted();
      if (status === 'queued') await waitForPlace(entry);
      run.step('start');
      // Not before: a cancellation in the meantime would be an unhandled rejection, which ends the process.
      const cancelled = rejectOnAbort(run.signal);
      const steps = createRunSteps({ run, owned, runs, flush: frames.flush, stored });
      await Promise.race([parts.execute({ turn, run, usage, steps: watchSteps(steps, entry) }), cancelled]);
      run.step('complete');
    } catch (error) {
      endByError(run, error);
    } finally {
      clearTimeout(timeout);
      await frames.stop();
    }
    if (!hasEnded(run.status)) {
      if (await hasMoved(entry)) {
        leave(entry);
        return;
      }
      fail(run, new RunCancelled('shutdown'));
    }
    await settle(entry, usage);
  }

  /** Whether another instance continues the run. Only the database can tell. */
  async function hasMoved({ run, owned, frames }: LiveRun): Promise<boolean> {
    const { reason } = run.signal;
    if (reason instanceof RunCancelled && reason.by === 'handover') {
      await frames.flush();
      return (await parts.release?.(owned).catch(() => false)) ?? false;
    }
    const state = await runs.state(owned.runId).catch(() => undefined);
    return state !== undefined && state.epoch > owned.epoch;
  }

  function waitForPlace({ run, owned }: LiveRun): Promise<unknown> {
    broadcast.publish({ kind: 'waiting', sessionId: run.sessionId });
    return waiters.wait(run.sessionId, run.signal, async () => {
      const epoch = await runs.start(owned);
      if (epoch !== undefined) owned.epoch = epoch;
      else await checkQueued(run, owned);
      return epoch;
    });
  }

  /** Its session may have been deleted, or another instance may have taken it up. */
  async function checkQueued(run: Run, owned: OwnedRun): Promise<void> {
    const state = await runs.state(owned.runId);
    if (!state) run.cancel(new RunCancelled('user'));
    else if (state.epoch > owned.epoch) run.cancel(new RunCancelled('new-owner'));
  }

  function watchSteps(steps: RunSteps, entry: LiveRun): RunSteps {
    return {
      ...steps,
      async begin(result, isRepeatable) {
        entry.isHeld = !isRepeatable;
        await steps.begin(result, isRepeatable);
      },
      async end(outcomes) {
        await steps.end(outcomes);
        entry.isHeld = false;
      },
    };
  }

  function endByError(run: Run, error: unknown): void {
    const cause = run.signal.aborted ? run.signal.reason : error;
    if (cause instanceof RunCancelled && (cause.by === 'handover' || cause.by === 'new-owner')) return;
    if (cause instanceof RunCancelled && cause.by === 'user') {
      run.stopCalls();
      run.step('abort');
      return;
    }
    logger.warn({ err: cause, requestId: run.requestId, runId: run.runId }, 'a turn failed');
    fail(run, cause);
  }

  function fail(run: Run, cause: unknown): void {
    run.stopCalls();
    run.emit('error', toStreamError(cause));
    run.step('fail');
  }

  /** Stores the answer, then sends `done`: who reads the session after `done` finds the answer there. */
  async function settle(entry: LiveRun, usage: Usage): Promise<void> {
    const { run, turn, owned, frames } = entry;
    if (!hasEnded(run.status)) throw new Error(`run ${run.runId} settled while ${run.status}`);
    const { status } = run;
    const answer = run.draft(status);
    const title = turn.session.isNamed ? undefined : toSessionTitle(turn.body.message);
    const end: RunEnd = {
      ...owned,
      sessionId: run.sessionId,
      status,
      answer,
      usage,
      title,
      toFrames: frames.toLastFrames,
    };
    const deadline = Date.now() + (parts.storeEndMs ?? defaultStoreEndMs);
    const stored = await storeEnd(runs, end, () => Math.min(deadline, closeBy));
    if (stored.kind === 'new-owner') {
      leave(entry);
      return;
    }
    if (stored.kind === 'not-stored') {
      parts.onNotStored?.();
      logger.error({ err: stored.error, requestId: run.requestId, runId: run.runId }, 'an answer could not be stored');
      void storeLater(end);
    }
    const final: Message = { ...answer, status: toFinalStatus(stored, status) };
    await parts.onTurnEnd?.(toTurnEnd(turn, { runId: run.runId, status: final.status, usage: { ...usage } }));
    if (stored.kind === 'not-stored') run.finish(final, toStreamError(notStored));
    else {
      frames.announceEnd(final.status);
      run.finish(final);
    }
    live.delete(run.runId);
    parts.onEnd(run);
    onSessionFree(run.sessionId);
    setTimeout(() => run.frames.pack(), packAfterMs).unref();
    setTimeout(() => known.delete(run.runId), agentLimits.endedRunRetentionMs).unref();
  }

  /** The reader was told that it failed; the text is kept as soon as the database is there again. */
  async function storeLater(end: RunEnd): Promise<void> {
    const failed: RunEnd = { ...end, status: 'failed', answer: { ...end.answer, status: 'failed' } };
    const stored = await storeEnd(runs, failed, () => (closing ? 0 : Number.POSITIVE_INFINITY));
    if (stored.kind === 'stored') onSessionFree(end.sessionId);
  }

  /** The run continues on another instance: readers here come back for it. */
  function leave({ run }: LiveRun): void {
    live.delete(run.runId);
    known.delete(run.runId);
    run.leave(new RunCancelled('new-owner'));
  }

  function onSessionFree(sessionId: string): void {
    waiters.wakeFirst(sessionId);
    if (awaited.delete(sessionId)) broadcast.publish({ kind: 'ended', sessionId });
  }

  function cancelHere(runId: string): void {
    live.get(runId)?.run.cancel(new RunCancelled('user'));
  }

  function dropHere(sessionId: string): void {
    for (const { run } of live.values()) if (run.sessionId === sessionId) run.cancel(new RunCancelled('user'));
    for (const run of known.values()) if (run.sessionId === sessionId) known.delete(run.runId);
  }

  broadcast.onMessage((message: BroadcastMessage) => {
    switch (message.kind) {
      case 'abort':
        return cancelHere(message.runId);
      case 'drop':
        return dropHere(message.sessionId);
      case 'ended':
        return waiters.wakeFirst(message.sessionId);
      case 'waiting': {
        const isHere = [...live.values()].some(({ run }) => run.sessionId === message.sessionId);
        if (isHere) awaited.add(message.sessionId);
        return;
      }
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
    find: (runId: string): Run | undefined => known.get(runId),

    live: async (sessionId: string): Promise<{ runId: string; status: LiveRunStatus } | undefined> =>
      (await runs.live(sessionId))[0],

    /**
     * Stops the turn in flight, on whichever instance it runs; those that wait behind it follow. True is said of a run that
     * ends as aborted: the database has noted it.
     */
    async abort(sessionId: string, { runId, elapsedMs = 0 }: AbortOptions = {}): Promise<boolean> {
      const [first] = await runs.live(sessionId);
      if (
        !first ||
        (runId !== undefined && runId !== first.runId) ||
        !(await runs.requestAbort(first.runId, elapsedMs))
      )
        return false;
      if (live.has(first.runId)) cancelHere(first.runId);
      else broadcast.publish({ kind: 'abort', runId: first.runId });
      return true;
    },

    /** Cancels runs of this instance whose abort was confirmed; word of it may have been lost. */
    async checkAborts(): Promise<void> {
      if (live.size > 0) for (const runId of await runs.aborting(instance)) cancelHere(runId);
    },

    /** Stops and forgets everything of a session that is going away. */
    drop(sessionId: string): void {
      dropHere(sessionId);
      broadcast.publish({ kind: 'drop', sessionId });
    },

    isClosing: () => closing,
    /** How many runs are live here. */
    size: () => live.size,

    /**
     * Takes nothing new in and lets turns finish for a while. What is left moves to another instance where there is one and
     * nothing would be repeated, and otherwise ends with what it has.
     */
    async close(graceMs: number, canMove = false): Promise<void> {
      closing = true;
      closeBy = Date.now() + graceMs + closingStoreMs;
      const moving = ({ canMove: isPossible, isHeld }: LiveRun) => canMove && isPossible && !isHeld;
      for (const entry of live.values())
        if (entry.run.status === 'queued' && moving(entry)) entry.run.cancel(new RunCancelled('handover'));
      const late = setTimeout(() => {
        for (const entry of live.values()) entry.run.cancel(new RunCancelled(moving(entry) ? 'handover' : 'shutdown'));
      }, graceMs);
      while (active.size > 0) await Promise.allSettled(active);
      clearTimeout(late);
    },
  };
}

const notStored = new AppError('UNAVAILABLE', 'The answer could not be stored. Please send the message again.');

function toFinalStatus(
  stored: Exclude<Awaited<ReturnType<typeof storeEnd>>, { kind: 'new-owner' }>,
  status: Message['status'],
) {
  if (stored.kind === 'stored') return stored.status;
  return stored.kind === 'gone' ? status : 'failed';
}

function toTurnEnd(
  { sendId, user, session, model }: Turn,
  end: Pick<TurnEnd, 'runId' | 'status' | 'usage'> = {
    runId: undefined,
    status: 'refused',
    usage: { inputTokens: 0, outputTokens: 0 },
  },
): TurnEnd {
  return { sendId, userDid: user.did, sessionId: session.sessionId, model, ...end };
}

function toQuestion({ body, requestId }: Turn): Message {
  return {
    id: uuidv7(),
    type: 'human',
    content: body.message,
    createdAt: new Date().toISOString(),
    status: 'complete',
    requestId,
    ...(body.attachments?.length && { attachments: body.attachments.map(toMessageAttachment) }),
  };
}

/** Without the key of an encrypted file. */
function toMessageAttachment({ file, ...attachment }: Attachment): MessageAttachment {
  return file ? { mxcUri: file.url, ...attachment } : attachment;
}
