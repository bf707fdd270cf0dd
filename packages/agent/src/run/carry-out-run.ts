import { setImmediate as afterThisTick, setTimeout as sleep } from 'node:timers/promises';
import type { LiveRunStatus } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import { sizeOf } from '../plugins/check-arguments.ts';
import type { StoredStep } from '../store/interrupted-runs.ts';
import type { OwnedRun } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { LiveRun, LiveRuns } from './live-runs.ts';
import { rejectOnAbort } from './reject-on-abort.ts';
import type { Run } from './run.ts';
import type { RunApprovals } from './run-approvals.ts';
import type { RunInput } from './run-input.ts';
import { hasEnded } from './run-state.ts';
import { canContinueAfter, createRunSteps, type RecordedRun, type RunSteps } from './run-steps.ts';
import type { SessionQueue } from './session-queue.ts';
import { RunCancelled, toStreamError } from './stream-error.ts';
import { type Turn, turnSizeOf, withoutInput } from './turn.ts';

export interface Work {
  turn: Turn;
  /** Counts what the turn reads beside its message. */
  hold(value: unknown): void;
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
  live: Pick<LiveRuns, 'mayWait' | 'findLimit' | 'checkSize'>;
  /** Reads again what a message brought; undefined if it cannot be read. */
  loadInput?(run: Pick<Run, 'runId' | 'sessionId'>): Promise<RunInput | undefined>;
  /** Gives a run up for another instance to take over; false if that is not possible. */
  release?(owned: OwnedRun): Promise<boolean>;
}

/** How often a run whose user has answered looks for room among the live ones. */
const roomMs = 500;

export interface Begun {
  status: LiveRunStatus;
  /** The steps of an earlier owner. */
  steps: StoredStep[];
}

/** Waits for the run's place in its session and does its turn. `moved`: another instance continues it. */
export async function carryOutRun(entry: LiveRun, begun: Begun, parts: CarryOutParts): Promise<'ended' | 'moved'> {
  const { run, frames } = entry;
  const limit = createTurnLimit(run, parts.turnTimeoutMs);
  try {
    // The first frame goes out when this tick is over; what follows would hold it up.
    await afterThisTick();
    run.signal.throwIfAborted();
    if (begun.status === 'queued') {
      release(entry, parts);
      await parts.queue.waitForPlace(entry);
    }
    run.step('start');
    const cancelled = rejectOnAbort(run.signal);
    let recorded = begun.status === 'waiting' ? undefined : await loadRecorded(begun, run.runId, parts);
    begun.steps = [];
    for (let outcome: TurnOutcome | undefined; outcome !== 'answered'; recorded = undefined) {
      recorded ??= await limit.without(() => waitForUser(entry, parts));
      outcome = await Promise.race([execute(entry, recorded, parts), cancelled]);
    }
    run.step('complete');
  } catch (error) {
    endByError(run, error, parts.logger);
  } finally {
    limit.stop();
    entry.turn.blobs.release();
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
  const { run, owned, frames } = entry;
  await load(entry, parts);
  const { turn } = entry;
  const steps = createRunSteps({
    run,
    owned,
    runs: parts.runs,
    ask: async (step) => (parts.live.mayWait(entry) ? parts.approvals.ask(step) : 'too-many'),
    flush: frames.flush,
    recorded,
  });
  const hold = (value: unknown) => {
    entry.turnSize += sizeOf(value);
    parts.live.checkSize(entry);
  };
  hold(steps.earlier);
  return parts.execute({ turn, run, steps: watchSteps(steps, entry, hold), hold });
}

/** While a run waits, what its message brought is in the store alone. */
function release(entry: LiveRun, { loadInput }: CarryOutParts): void {
  entry.turn.blobs.release();
  if (entry.canMove && loadInput) {
    entry.turn = withoutInput(entry.turn);
    entry.isReleased = true;
  }
  entry.turnSize = turnSizeOf(entry.turn);
}

async function load(entry: LiveRun, { loadInput }: CarryOutParts): Promise<void> {
  const { run } = entry;
  if (entry.isReleased) {
    const input = await loadInput?.(run);
    if (!input) throw new Error('the message of the run cannot be read any more');
    entry.turn = { ...entry.turn, ...input };
    entry.turnSize = turnSizeOf(entry.turn);
    entry.isReleased = false;
  }
  await entry.turn.blobs.load(run.signal);
}

/** The time a run waits for its user is not its own. */
async function waitForUser(entry: LiveRun, parts: CarryOutParts): Promise<RecordedRun> {
  const { run } = entry;
  run.step('wait');
  release(entry, parts);
  const recorded = await parts.approvals.wait(entry);
  while (parts.live.findLimit(entry.turn)) await sleep(roomMs, undefined, { signal: run.signal });
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

function watchSteps(steps: RunSteps, entry: LiveRun, hold: Work['hold']): RunSteps {
  return {
    ...steps,
    async begin(result, isRepeatable) {
      entry.isHeld = !isRepeatable;
      await steps.begin(result, isRepeatable);
    },
    async end(outcomes) {
      await steps.end(outcomes);
      entry.isHeld = false;
      hold(outcomes);
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
