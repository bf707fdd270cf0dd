import type { Logger } from '@palaver/service-kit';
import { faultKind } from '@palaver/store/internal';
import type { TurnEnd } from '../plugins/middleware.ts';
import type { InstanceStore } from '../store/instances.ts';
import type { InterruptedRun, InterruptedRuns, StoredStep } from '../store/interrupted-runs.ts';
import type { Frames } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import { createRun } from './run.ts';
import { sendIdOf } from './run-input.ts';
import { canContinueAfter, usageOf } from './run-steps.ts';
import { RunCancelled, TurnError, toStreamError } from './stream-error.ts';
import type { Turn, UsageByModel } from './turn.ts';
import type { ClaimedRun, TurnHub } from './turn-hub.ts';

export interface SweepParts {
  instance: string;
  isAlone: boolean;
  instances: Pick<InstanceStore, 'lease'>;
  interrupted: InterruptedRuns;
  runs: RunStore;
  hub: Pick<TurnHub, 'takeOver' | 'hasRoom'>;
  /** The turn of a run as it was sent; undefined if it cannot be continued. */
  loadTurn(run: InterruptedRun): Promise<Turn | undefined>;
  logger: Logger;
  onSwept?(outcome: 'taken-up' | 'failed'): void;
  /** Called for a run that is ended here. Never rejects. */
  onTurnEnd?(end: TurnEnd): Promise<void>;
}

/** Shorter than the time between two sweeps, so that after a crash of many the next batches go to other instances. */
const leaseMs = 1_500;
const batchSize = 20;
const maxBites = 10;
/** A run that takes its instance down must not take down one after the other. */
const maxDeaths = 2;
const endedTwo = new TurnError(
  'INTERNAL_ERROR',
  'Two instances of the service died while they worked on this message, so it is not tried again.',
  { kind: 'internal', retryable: false },
);

/** Finds runs whose instance died: takes them over if no side effect would be repeated, otherwise ends them. */
export async function sweepRuns(parts: SweepParts): Promise<void> {
  const { instance, isAlone, instances, interrupted } = parts;
  if (!isAlone && !(await instances.lease('sweep', instance, leaseMs))) return;
  let after = '';
  for (let round = 0; round < maxBites; round += 1) {
    const found = await interrupted.list({ instance, isAlone, after, limit: batchSize });
    for (const run of found) {
      // Those that are left are found at the next sweep, here or elsewhere.
      if (!parts.hub.hasRoom()) return;
      await sweepRun(run, parts).catch((error) => endUnreadable(run, error, parts));
    }
    if (found.length < batchSize) return;
    after = found.at(-1)?.runId ?? '';
  }
}

/** One run that cannot be read must not keep the others from being found. */
async function endUnreadable(run: InterruptedRun, error: unknown, parts: SweepParts): Promise<void> {
  if (faultKind(error)) throw error;
  parts.logger.error({ err: error, runId: run.runId }, 'an interrupted run cannot be read and ends as failed');
  await end(run, { frames: '', used: {} }, parts);
}

async function sweepRun(found: InterruptedRun, parts: SweepParts): Promise<void> {
  const steps = await parts.interrupted.steps(found.runId);
  const turn = canContinue(found, steps) ? await parts.loadTurn(found) : undefined;
  if (!turn) return endAndReport(found, parts);
  if (!(await parts.hub.takeOver(found, turn, () => claim(found, parts)))) return;
  parts.logger.info({ runId: found.runId }, 'a run of an instance that died or stopped continues here');
  parts.onSwept?.('taken-up');
}

function canContinue(
  { status, deaths, isAborting }: Pick<InterruptedRun, 'status' | 'deaths' | 'isAborting'>,
  steps: StoredStep[] | undefined,
): boolean {
  // The tools of a step that waits have not begun.
  return steps !== undefined && !isAborting && deaths < maxDeaths && (status === 'waiting' || canContinueAfter(steps));
}

/**
 * Makes this instance the owner, then reads the run: until the claim an owner that only seemed dead may have begun a tool.
 * Undefined if the run does not continue here.
 */
async function claim(found: InterruptedRun, parts: SweepParts): Promise<ClaimedRun | undefined> {
  const { runs, interrupted, instance } = parts;
  const claimed = await interrupted.claim(found, instance);
  if (!claimed) return undefined;
  const steps = await interrupted.steps(found.runId);
  const frames = await runs.frames(found.runId, 0);
  if (steps && frames && canContinue({ ...found, ...claimed }, steps))
    return { ...claimed, steps, frames: toText(frames) };
  await endAndReport({ ...found, ...claimed }, parts);
  return undefined;
}

const toText = (frames: Frames[] | undefined) => frames?.map(({ body }) => body).join('') ?? '';

async function endAndReport(interrupted: InterruptedRun, parts: SweepParts): Promise<void> {
  const { runId } = interrupted;
  const frames = toText(await parts.runs.frames(runId, 0));
  const used = usageOf((await parts.interrupted.steps(runId)) ?? []);
  const ended = await end(interrupted, { frames, used }, parts);
  if (!ended) return;
  parts.onSwept?.('failed');
  await reportEnd(interrupted, ended, parts);
}

type End = Pick<TurnEnd, 'status' | 'usage' | 'usageByModel'>;

/** With the text so far, and what models had used when the last step was stored. */
async function end(
  interrupted: InterruptedRun,
  { frames, used }: { frames: string; used: UsageByModel },
  { runs, logger }: SweepParts,
): Promise<End | undefined> {
  const { runId, sessionId, requestId, messageId, epoch, deaths, isAborting } = interrupted;
  const run = createRun(interrupted, { onEvent() {}, earlier: frames });
  run.addUsage(used);
  const stored = run.frames.length;
  if (stored === 0) run.emit('run', { runId, sessionId, requestId, messageId });
  run.stopCalls();
  if (!isAborting) run.emit('error', toStreamError(deaths < maxDeaths ? new RunCancelled('shutdown') : endedTwo));
  const status = isAborting ? 'aborted' : 'failed';
  const ended = await runs.end({
    runId,
    sessionId,
    epoch,
    status,
    answer: run.draft(status),
    usage: run.usage,
    title: undefined,
    bySweep: true,
    toFrames(final) {
      const { text, last } = run.frames.read(stored, Number.POSITIVE_INFINITY);
      return { first: stored + 1, last: last + 1, body: text + run.toDone(final) };
    },
  });
  if (!ended) return undefined;
  logger.warn({ runId, status: ended }, 'a run of an instance that died was ended');
  return { status: ended, usage: run.usage, usageByModel: used };
}

async function reportEnd(
  { runId, userDid, sessionId, model, input }: InterruptedRun,
  ended: End,
  { onTurnEnd }: SweepParts,
): Promise<void> {
  const sendId = sendIdOf(input);
  if (sendId === undefined) return;
  await onTurnEnd?.({ sendId, userDid, sessionId, runId, model, ...ended });
}
