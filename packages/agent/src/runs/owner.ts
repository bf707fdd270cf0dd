// One file: each step of a run at its owner decides what the next one may do.
import { setImmediate as afterThisTick, setTimeout as sleep } from 'node:timers/promises';
import { AppError, type EndedRunStatus, type LiveRunStatus, type SseEvent } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { Broadcast } from '../cluster/broadcast.ts';
import { type SessionClients, showEvent } from '../cluster/session-clients.ts';
import type { TurnEnd } from '../define/middleware.ts';
import type { OwnedRun } from '../store/run-transitions.ts';
import type { RunEnd } from '../store/run-writes.ts';
import type { RunStore, StoredStep } from '../store/runs.ts';
import type { RunApprovals } from './approvals.ts';
import { keepFrames } from './frames.ts';
import {
  type RunInput,
  sizeOf,
  type Turn,
  toSessionTitle,
  toStoredInput,
  toTurnEnd,
  turnSizeOf,
  withoutInput,
} from './input.ts';
import type { LiveRun, LiveRuns, SessionQueue } from './queue.ts';
import {
  createRun,
  explainFault,
  type Run,
  RunCancelled,
  type RunIds,
  rejectOnAbort,
  toProviderFault,
  toStreamError,
} from './run.ts';
import { canContinueAfter, createRunSteps, type RecordedRun, type RunSteps, usageOf } from './steps.ts';
import { hasEnded, isElsewhere } from './transitions.ts';

export interface Work {
  turn: Turn;
  run: Run;
  steps: RunSteps;
  count(value: unknown): void;
}

/** `waiting`: tools wait for the user, and the turn is done again from its recorded steps once the user has answered. */
export type TurnOutcome = 'answered' | 'waiting';

export interface OwnerParts {
  runs: RunStore;
  live: LiveRuns;
  queue: SessionQueue;
  approvals: Pick<RunApprovals, 'ask' | 'wait' | 'ofRun' | 'signedFor'>;
  broadcast: Broadcast;
  clients: Pick<SessionClients, 'notify'>;
  logger: Logger;
  turnTimeoutMs: number;
  /** Users read why a provider refused: they are the author. */
  explainsFaults?: boolean;
  /** How long to keep retrying to store the end of a run, before its reader gets an error. */
  storeEndMs?: number;
  /** When this process stops trying; infinity while it is not closing. */
  closeBy(): number;
  /** The time of messages: that of the database, if instances share one. */
  now?(): number;
  /** Does a turn: streams events through `run.emit` until it resolves; must stop soon after `run.signal` fires. */
  execute(work: Work): Promise<TurnOutcome>;
  loadInput?(run: Pick<Run, 'runId' | 'sessionId'>): Promise<RunInput | undefined>;
  onNotStored?(): void;
  onTurnEnd?(end: TurnEnd): Promise<void>;
}

type Begun = { status: LiveRunStatus; steps: StoredStep[] };

type Owning = Begun & { ids: RunIds; owned: OwnedRun; userMessageId?: string; earlier: string };

/** Characters of frames after which the memory of all live runs is looked at again. */
const checkEvery = 256 * 1024;
/** How often a run whose user has answered looks for room among the live ones. */
const roomMs = 500;
const defaultStoreEndMs = 15_000;
const notStored = new AppError('UNAVAILABLE', 'The answer could not be stored. Please send the message again.');

/** What the owner of runs does with each of them until its end is stored or it has another owner. */
export function createOwner(parts: OwnerParts) {
  const { runs, live, queue, approvals, broadcast, clients, logger, now = Date.now } = parts;
  const active = new Set<Promise<void>>();

  /** While a run waits, what its message brought is in the store alone. */
  function unload(entry: LiveRun): void {
    entry.turn.blobs.release();
    if (entry.canMove && parts.loadInput) {
      entry.turn = withoutInput(entry.turn);
      entry.isUnloaded = true;
    }
    entry.turnSize = turnSizeOf(entry.turn);
  }

  async function load(entry: LiveRun): Promise<void> {
    const { run } = entry;
    if (entry.isUnloaded) {
      const input = await parts.loadInput?.(run);
      if (!input) throw new Error('the message of the run cannot be read any more');
      entry.turn = { ...entry.turn, ...input };
      entry.turnSize = turnSizeOf(entry.turn);
      entry.isUnloaded = false;
    }
    await entry.turn.blobs.load(run.signal);
  }

  async function execute(entry: LiveRun, recorded: RecordedRun): Promise<TurnOutcome> {
    const { run, owned, frames } = entry;
    await load(entry);
    const { turn } = entry;
    const count = (value: unknown) => {
      entry.turnSize += sizeOf(value);
      live.checkSize(entry);
    };
    const steps = createRunSteps({
      run,
      owned,
      runs,
      recorded,
      flush: frames.flush,
      ask: async (step) => (live.mayWait(entry) ? approvals.ask(step) : 'too-many'),
      onBegin(isRepeatable) {
        entry.mustStay = !isRepeatable;
      },
      onEnd(outcomes) {
        entry.mustStay = false;
        count(outcomes);
      },
    });
    count(steps.earlier);
    return parts.execute({ turn, run, steps, count });
  }

  /** Of a run whose tools may have begun: what was approved stays approved. */
  async function loadRecorded(runId: string, { steps }: Begun): Promise<RecordedRun> {
    if (steps.length === 0) return { steps, approvals: [] };
    const signed = await approvals.signedFor(runId);
    return { steps, approvals: await approvals.ofRun(runId), signed, hasBegun: true };
  }

  async function waitForUser(entry: LiveRun): Promise<RecordedRun> {
    const { run } = entry;
    run.move('ask');
    unload(entry);
    const recorded = await approvals.wait(entry);
    while (live.findLimit(entry.turn)) await sleep(roomMs, undefined, { signal: run.signal });
    run.move('resume');
    entry.startedAt = performance.now();
    entry.mustStay = !canContinueAfter(recorded.steps);
    return recorded;
  }

  /** Waits for the run's place in its session and does its turn. `moved`: another instance continues it. */
  async function carryOut(entry: LiveRun, begun: Begun): Promise<'ended' | 'moved'> {
    const { run, frames } = entry;
    const limit = createTurnLimit(run, parts.turnTimeoutMs);
    try {
      // The first frame goes out when this tick is over; what follows would hold it up.
      await afterThisTick();
      run.signal.throwIfAborted();
      if (begun.status === 'queued') {
        unload(entry);
        await queue.waitForPlace(entry);
      }
      run.move('start');
      const cancelled = rejectOnAbort(run.signal);
      let recorded = begun.status === 'waiting' ? undefined : await loadRecorded(run.runId, begun);
      begun.steps = [];
      for (let outcome: TurnOutcome | undefined; outcome !== 'answered'; recorded = undefined) {
        recorded ??= await limit.without(() => waitForUser(entry));
        outcome = await Promise.race([execute(entry, recorded), cancelled]);
      }
      run.move('complete');
    } catch (error) {
      stopRun(run, error, parts);
    } finally {
      limit.stop();
      entry.turn.blobs.release();
      await frames.stop();
    }
    if (hasEnded(run.status)) return 'ended';
    if (await hasMoved(entry)) return 'moved';
    run.fail(new RunCancelled('shutdown'));
    return 'ended';
  }

  /** Whether another instance continues the run. Only the database has the answer. */
  async function hasMoved({ run, owned, frames }: LiveRun): Promise<boolean> {
    const { reason } = run.signal;
    if (reason instanceof RunCancelled && reason.by === 'handover') {
      await frames.flush();
      return await runs.release(owned).catch(() => false);
    }
    const state = await runs.state(owned.runId).catch(() => undefined);
    return state !== undefined && isElsewhere(state, owned.epoch);
  }

  /** Stores the answer, then sends `done`: who reads the session after `done` finds the answer there. */
  async function end(entry: LiveRun): Promise<void> {
    const { run, turn, frames, owned, title } = entry;
    const { runId, sessionId, requestId, messageId, status, usage } = run;
    if (!hasEnded(status)) throw new Error(`run ${runId} ends while it is ${status}`);
    const last: RunEnd = {
      ...owned,
      sessionId,
      status,
      usage,
      title,
      answer: run.draft(status),
      toFrames: frames.toLastFrames,
    };
    const deadline = Date.now() + (parts.storeEndMs ?? defaultStoreEndMs);
    const stored = await storeEnd(runs, last, () => Math.min(deadline, parts.closeBy()));
    if (stored.kind === 'new-owner') return live.leave(entry);
    if (stored.kind === 'not-stored') {
      parts.onNotStored?.();
      logger.error({ err: stored.error, requestId, runId }, 'an answer could not be stored');
      void storeLater(last).finally(live.reserve(runId));
    }
    const final = stored.kind === 'stored' ? stored.status : stored.kind === 'gone' ? status : 'failed';
    await parts.onTurnEnd?.(toTurnEnd(turn, { runId, status: final, usage, usageByModel: run.usageByModel() }));
    if (stored.kind !== 'not-stored') frames.announceEnd(final);
    run.finish({ ...last.answer, status: final }, stored.kind === 'not-stored' ? toStreamError(notStored) : undefined);
    live.retire(entry);
    queue.callNext(sessionId);
    clients.notify(sessionId, 'message_cache_invalidation', { sessionId, messageId });
  }

  /** The reader has got an error; the text is kept as soon as the database is there again. */
  async function storeLater(last: RunEnd): Promise<void> {
    const failed: RunEnd = { ...last, status: 'failed', answer: { ...last.answer, status: 'failed' } };
    const untilClosing = () => (Number.isFinite(parts.closeBy()) ? 0 : Number.POSITIVE_INFINITY);
    if ((await storeEnd(runs, failed, untilClosing)).kind === 'stored') queue.callNext(last.sessionId);
  }

  /** Whatever throws, the run must not stay: its session would be blocked. */
  async function follow(entry: LiveRun, begun: Begun): Promise<void> {
    const { run } = entry;
    try {
      if ((await carryOut(entry, begun)) === 'moved') live.leave(entry);
      else await end(entry);
    } catch (error) {
      logger.error({ err: error, runId: run.runId }, 'a run ended with an internal error');
      if (live.get(run.runId) !== entry) return;
      if (!hasEnded(run.status)) run.fail(error);
      await end(entry);
    }
  }

  return {
    own(turn: Turn, { ids, owned, status, userMessageId, earlier, steps }: Owning): Run {
      const { runId, sessionId, requestId, messageId } = ids;
      let checked = 0;
      const onEvent = (event: SseEvent) => {
        showEvent(clients, sessionId, event);
        if (run.frames.size < checked + checkEvery) return;
        checked = run.frames.size;
        live.checkSize(entry);
      };
      const run = createRun(ids, { onEvent, earlier, now: now() });
      run.addUsage(usageOf(steps));
      const stored = run.frames.length;
      if (stored === 0) run.emit('run', { runId, sessionId, requestId, messageId, userMessageId });
      const onNewOwner = () => run.cancel(new RunCancelled('new-owner'));
      const entry: LiveRun = {
        run,
        turn,
        owned,
        mustStay: false,
        frames: keepFrames(run, owned, { runs, broadcast, logger, stored, onNewOwner }),
        canMove: toStoredInput(turn) !== null,
        turnSize: turnSizeOf(turn),
        title: turn.session.isNamed ? undefined : toSessionTitle(turn.body.message),
        startedAt: performance.now(),
      };
      live.add(entry);
      live.checkSize(entry);
      const work = follow(entry, { status, steps })
        .catch((error) => logger.error({ err: error, runId }, 'a run could not be ended'))
        .finally(() => active.delete(work));
      active.add(work);
      return run;
    },
    async idle(): Promise<void> {
      while (active.size > 0) await Promise.allSettled(active);
    },
  };
}

function createTurnLimit(run: Run, timeoutMs: number) {
  const start = () => setTimeout(() => run.cancel(new RunCancelled('timeout')), timeoutMs);
  let timer = start();
  return {
    async without<T>(work: () => Promise<T>): Promise<T> {
      clearTimeout(timer);
      const result = await work();
      timer = start();
      return result;
    },
    stop: () => clearTimeout(timer),
  };
}

function stopRun(run: Run, error: unknown, { logger, explainsFaults }: OwnerParts): void {
  const cause = run.signal.aborted ? run.signal.reason : error;
  if (cause instanceof RunCancelled && (cause.by === 'handover' || cause.by === 'new-owner')) return;
  if (cause instanceof RunCancelled && cause.by === 'user') {
    run.stopCalls();
    run.move('stop');
    return;
  }
  const { requestId, runId } = run;
  logger.warn({ err: cause, provider: toProviderFault(cause), requestId, runId }, 'a turn failed');
  run.fail(explainsFaults ? explainFault(cause) : cause);
}

type StoredEnd =
  | { kind: 'stored'; status: EndedRunStatus }
  | { kind: 'gone' }
  | { kind: 'new-owner' }
  | { kind: 'not-stored'; error: unknown };

const firstDelayMs = 50;
const maxDelayMs = 2_000;

export async function storeEnd(
  runs: Pick<RunStore, 'end' | 'state'>,
  end: RunEnd,
  deadline: () => number,
): Promise<StoredEnd> {
  for (let delay = firstDelayMs; ; delay = Math.min(2 * delay, maxDelayMs)) {
    try {
      const status = await runs.end(end);
      if (status) return { kind: 'stored', status };
      // An earlier try may have been committed although its answer was lost.
      const state = await runs.state(end.runId);
      if (!state) return { kind: 'gone' };
      const isOwn = state.epoch === end.epoch && hasEnded(state.status);
      return isOwn ? { kind: 'stored', status: state.status as EndedRunStatus } : { kind: 'new-owner' };
    } catch (error) {
      if (Date.now() + delay > deadline()) return { kind: 'not-stored', error };
    }
    await sleep(delay);
  }
}
