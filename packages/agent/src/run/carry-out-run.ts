import { setImmediate as afterThisTick } from 'node:timers/promises';
import type { LiveRunStatus } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { StoredStep } from '../store/interrupted-runs.ts';
import type { OwnedRun } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { LiveRun } from './live-runs.ts';
import { rejectOnAbort } from './reject-on-abort.ts';
import type { Run } from './run.ts';
import type { RunApprovals } from './run-approvals.ts';
import { hasEnded } from './run-state.ts';
import { canContinueAfter, createRunSteps, type RecordedRun, type RunSteps } from './run-steps.ts';
import type { SessionQueue } from './session-queue.ts';
import { RunCancelled, toStreamError } from './stream-error.ts';
import type { Turn } from './turn.ts';

export interface Work {
  turn: Turn;
  run: Run;
  steps: RunSteps;
}

/** `waiting`: tools wait for the user, and the turn is done again from its recorded steps once the user has answered. */
export type TurnOutcome = 'answered' | 'waiting';

/** Does a turn: streams events through `run.emit` until it resolves; must stop soon after `run.signal` fires. */
export type Execute = (work: Work) => Promise<TurnOutcome>;

export interface CarryOutParts {
  runs: RunStore;
  queue: SessionQueue;
  logger: Logger;
  turnTimeoutMs: number;
  approvals: Pick<RunApprovals, 'ask' | 'wait' | 'ofRun' | 'signedFor'>;
  execute: Execute;
  /** Gives a run up for another instance to take over; false if that is not possible. */
  release?(owned: OwnedRun): Promise<boolean>;
}

export interface Begun {
  status: LiveRunStatus;
  /** The steps of an earlier owner. */
  steps: StoredStep[];
}

/** Waits for the run's place in its session and does its turn. `moved`: another instance continues it. */
export async function carryOutRun(entry: LiveRun, begun: Begun, parts: CarryOutParts): Promise<'ended' | 'moved'> {
  const { run, turn, frames } = entry;
  const limit = createTurnLimit(run, parts.turnTimeoutMs);
  try {
    // The first frame goes out when this tick is over; what follows would hold it up.
    await afterThisTick();
    run.signal.throwIfAborted();
    if (begun.status === 'queued') {
      turn.blobs.release();
      await parts.queue.waitForPlace(entry);
    }
    run.step('start');
    const cancelled = rejectOnAbort(run.signal);
    let isWaiting = begun.status === 'waiting';
    let recorded = isWaiting ? undefined : await loadRecorded(begun, run.runId, parts);
    do {
      recorded = isWaiting || !recorded ? await limit.without(() => waitForUser(entry, parts)) : recorded;
      isWaiting = (await Promise.race([execute(entry, recorded, parts), cancelled])) === 'waiting';
    } while (isWaiting);
    run.step('complete');
  } catch (error) {
    endByError(run, error, parts.logger);
  } finally {
    limit.stop();
    turn.blobs.release();
    await frames.stop();
  }
  if (hasEnded(run.status)) return 'ended';
  if (await hasMoved(entry, parts)) return 'moved';
  fail(run, new RunCancelled('shutdown'));
  return 'ended';
}

/** Of a run whose tools may have begun: what was approved stays approved. */
async function loadRecorded({ steps }: Begun, runId: string, { approvals }: CarryOutParts): Promise<RecordedRun> {
  if (steps.length === 0) return { steps, approvals: [] };
  const signed = await approvals.signedFor(runId);
  return { steps, approvals: await approvals.ofRun(runId), signed, hasBegun: true };
}

async function execute(entry: LiveRun, recorded: RecordedRun, parts: CarryOutParts): Promise<TurnOutcome> {
  const { run, turn, owned, frames } = entry;
  await turn.blobs.load(run.signal);
  const steps = createRunSteps({
    run,
    owned,
    runs: parts.runs,
    ask: parts.approvals.ask,
    flush: frames.flush,
    recorded,
  });
  return parts.execute({ turn, run, steps: watchSteps(steps, entry) });
}

/** The time a run waits for its user is not its own. */
async function waitForUser(entry: LiveRun, { approvals }: CarryOutParts): Promise<RecordedRun> {
  const { run, turn } = entry;
  run.step('wait');
  turn.blobs.release();
  const recorded = await approvals.wait(entry);
  run.step('start');
  entry.startedAt = performance.now();
  entry.isHeld = !canContinueAfter(recorded.steps);
  return recorded;
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

/** Whether another instance continues the run. Only the database has the answer. */
async function hasMoved({ run, owned, frames }: LiveRun, { runs, release }: CarryOutParts): Promise<boolean> {
  const { reason } = run.signal;
  if (reason instanceof RunCancelled && reason.by === 'handover') {
    await frames.flush();
    return (await release?.(owned).catch(() => false)) ?? false;
  }
  const state = await runs.state(owned.runId).catch(() => undefined);
  return state !== undefined && state.epoch > owned.epoch;
}

function endByError(run: Run, error: unknown, logger: Logger): void {
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
