import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { faultKind } from '@palaver/store/internal';
import type { Cluster } from '../cluster/create-cluster.ts';
import type { TurnEnd } from '../define/middleware.ts';
import { createInstanceStore, type InstanceStore } from '../store/instances.ts';
import { deleteExpired, isFullBatch, type RetentionRules } from '../store/retention.ts';
import type { Frames, RunEnd } from '../store/run-writes.ts';
import type { InterruptedRun, RunStore, StoredStep } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import type { RunApprovals } from './approvals.ts';
import type { ClaimedRun, TurnHub } from './hub.ts';
import { sendIdOf, type Turn, type UsageByModel } from './input.ts';
import { storeEnd } from './owner.ts';
import { createRun, RunCancelled, TurnError, toStreamError } from './run.ts';
import { canContinueAfter, usageOf } from './steps.ts';

export interface UpkeepParts extends Omit<SweepParts, 'instance' | 'isAlone' | 'instances'> {
  cluster: Cluster;
  store: Store<AgentDatabase>;
  hub: TurnHub;
  approvals: Pick<RunApprovals, 'expire'>;
  retention: RetentionRules;
}

const sweepMs = 2_000;
/** After the start, so that an instance that is restarted often deletes too. */
const firstRetentionMs = 5_000;
const retentionMs = 60_000;
/** As long as a batch was full. */
const busyRetentionMs = 1_000;

/** What an instance does for all: finds runs whose owner died, and deletes what is past its time. */
export function createRunUpkeep(parts: UpkeepParts) {
  const { cluster, store, hub, logger } = parts;
  const instances = createInstanceStore(store);
  const { instance, isAlone } = cluster;
  const regular: ReturnType<typeof runEvery>[] = [];
  let sweeping: Promise<void> | undefined;
  let isAsked = false;
  let isFailing = false;
  let sweptAt = performance.now();

  /** One at a time. It is repeated for those who ask meanwhile: what they ask for may have come too late for it. */
  function sweep(): Promise<void> {
    isAsked = true;
    sweeping ??= sweepWhileAsked().finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  async function sweepWhileAsked(): Promise<void> {
    while (isAsked && !hub.isClosing()) {
      isAsked = false;
      try {
        await sweepRuns({ ...parts, instance, isAlone, instances });
        isFailing = false;
        sweptAt = performance.now();
      } catch (error) {
        if (!isFailing) logger.warn({ err: error }, 'the sweep for interrupted runs failed');
        isFailing = true;
      }
    }
  }

  async function prune(setNext: (ms: number) => void): Promise<void> {
    if (!isAlone && !(await instances.lease('retention', instance, retentionMs / 2))) return;
    if (isFullBatch(await deleteExpired(store, parts.retention))) setNext(busyRetentionMs);
  }

  return {
    async start(): Promise<void> {
      await cluster.startHeartbeat(async () => {
        await hub.checkOwned();
        await parts.approvals.expire();
      });
      await sweep();
      cluster.broadcast.onMessage(({ kind }) => {
        if (kind === 'released') void sweep();
      });
      regular.push(
        // It reports its own faults: others ask for it too.
        runEvery({ everyMs: sweepMs, work: sweep, onFault() {} }),
        runEvery({
          everyMs: retentionMs,
          firstMs: firstRetentionMs,
          work: prune,
          onFault: (error) => logger.warn({ err: error }, 'what is past its time could not be deleted'),
        }),
      );
    },
    sweep,
    lagSeconds: () => (performance.now() - sweptAt) / 1000,
    async stop(): Promise<void> {
      // Work under way may take a lease, so it ends before the leases of this instance are freed.
      await Promise.all([sweeping, ...regular.map((work) => work.stop())]);
    },
  };
}

export interface SweepParts {
  instance: string;
  isAlone: boolean;
  instances: Pick<InstanceStore, 'lease'>;
  runs: RunStore;
  hub: Pick<TurnHub, 'takeOver' | 'hasRoom' | 'isClosing'>;
  loadTurn(run: InterruptedRun): Promise<Turn | undefined>;
  logger: Logger;
  onSwept?(outcome: 'taken-up' | 'failed'): void;
  /** Called for a run that is ended here. Never rejects. */
  onTurnEnd?(end: TurnEnd): Promise<void>;
}

/** Shorter than the time between two sweeps, so that after a crash of many the next batches go to other instances. */
const leaseMs = 1_500;
/** A sweep waits no longer for a database that fails, and the outcome of its write is looked for this long. */
const storeEndMs = 1_000;
const settleEndMs = 60_000;
const batchSize = 20;
const maxBatches = 10;
/** A run that takes its instance down must not take down one after the other. */
const maxDeaths = 2;
const endedTwo = new TurnError(
  'INTERNAL_ERROR',
  'Two instances of the service died while they worked on this message, so it is not tried again.',
  { kind: 'internal', retryable: false },
);

/** Finds runs whose instance died: takes them over if no side effect would be repeated, otherwise ends them. */
export async function sweepRuns(parts: SweepParts): Promise<void> {
  const { instance, isAlone, instances, runs } = parts;
  if (!isAlone && !(await instances.lease('sweep', instance, leaseMs))) return;
  let after = '';
  const faults: unknown[] = [];
  for (let round = 0; round < maxBatches; round += 1) {
    const found = await runs.listInterrupted({ instance, isAlone, after, limit: batchSize });
    for (const run of found) {
      // Those that are left are found at the next sweep, here or elsewhere.
      if (!parts.hub.hasRoom()) return;
      // One that the database does not give now must not keep the others from being found.
      await sweepRun(run, parts).catch((error) => faults.push(error));
    }
    if (found.length < batchSize) break;
    after = found.at(-1)?.runId ?? '';
  }
  if (faults.length > 0) throw faults[0];
}

async function sweepRun(found: InterruptedRun, parts: SweepParts): Promise<void> {
  const turn = await findTurn(found, parts).catch((error) => logUnreadable(found, error, parts));
  if (!(await parts.hub.takeOver(found, turn, () => claim(found, turn, parts)))) return;
  parts.logger.info({ runId: found.runId }, 'a run of an instance that died or stopped continues here');
  parts.onSwept?.('taken-up');
}

async function findTurn(found: InterruptedRun, parts: SweepParts): Promise<Turn | undefined> {
  return canContinue(found, await parts.runs.steps(found.runId)) ? parts.loadTurn(found) : undefined;
}

function logUnreadable({ runId }: InterruptedRun, error: unknown, { logger }: SweepParts): undefined {
  if (faultKind(error)) throw error;
  logger.error({ err: error, runId }, 'an interrupted run cannot be read and ends as failed');
}

function canContinue(
  { status, deaths, isAborting }: Pick<InterruptedRun, 'status' | 'deaths' | 'isAborting'>,
  steps: StoredStep[] | undefined,
): boolean {
  // The tools of a step that waits have not begun.
  return steps !== undefined && !isAborting && deaths < maxDeaths && (status === 'waiting' || canContinueAfter(steps));
}

/** Claims the run, then reads it: until the claim a slow owner may have begun a tool. Undefined for a run that ends here. */
async function claim(
  found: InterruptedRun,
  turn: Turn | undefined,
  parts: SweepParts,
): Promise<ClaimedRun | undefined> {
  const claimed = await parts.runs.claim(found, parts.instance, parts.isAlone);
  if (!claimed) return undefined;
  const own = { ...found, ...claimed };
  try {
    const steps = await parts.runs.steps(found.runId);
    const frames = await parts.runs.frames(found.runId, 0);
    if (turn && steps && frames && canContinue(own, steps)) return { ...claimed, steps, frames: toText(frames) };
    await endAndReport(own, { frames: toText(frames), used: usageOf(steps ?? []) }, parts);
  } catch (error) {
    logUnreadable(own, error, parts);
    await endAndReport(own, { frames: '', used: {} }, parts);
  }
  return undefined;
}

const toText = (frames: Frames[] | undefined) => frames?.map(({ body }) => body).join('') ?? '';

async function endAndReport(
  interrupted: InterruptedRun,
  said: { frames: string; used: UsageByModel },
  parts: SweepParts,
  forMs = storeEndMs,
): Promise<void> {
  const ended = await end(interrupted, said, parts, forMs).catch((error) => {
    // Where it was committed after all, no sweep finds the run any more.
    if (forMs === storeEndMs) void endAndReport(interrupted, said, parts, settleEndMs).catch(() => {});
    throw error;
  });
  if (!ended) return;
  parts.onSwept?.('failed');
  const { runId, userDid, sessionId, model, input } = interrupted;
  const sendId = sendIdOf(input);
  if (sendId !== undefined) await parts.onTurnEnd?.({ sendId, userDid, sessionId, runId, model, ...ended });
}

/** With the text so far, and what models had used when the last step was stored. */
async function end(
  interrupted: InterruptedRun,
  { frames, used }: { frames: string; used: UsageByModel },
  { runs, hub, logger }: SweepParts,
  forMs: number,
): Promise<Pick<TurnEnd, 'status' | 'usage' | 'usageByModel'> | undefined> {
  const { runId, sessionId, requestId, messageId, epoch, deaths, isAborting } = interrupted;
  const run = createRun(interrupted, { onEvent() {}, earlier: frames });
  run.addUsage(used);
  const stored = run.frames.length;
  if (stored === 0) run.emit('run', { runId, sessionId, requestId, messageId });
  run.stopCalls();
  if (!isAborting) run.emit('error', toStreamError(deaths < maxDeaths ? new RunCancelled('shutdown') : endedTwo));
  const status = isAborting ? 'aborted' : 'failed';
  const last: RunEnd = {
    runId,
    sessionId,
    epoch,
    status,
    answer: run.draft(status),
    usage: run.usage,
    title: undefined,
    toFrames(final) {
      const { text, last } = run.frames.read(stored, Number.POSITIVE_INFINITY);
      return { first: stored + 1, last: last + 1, body: text + run.toDone(final) };
    },
  };
  const deadline = Date.now() + forMs;
  const ended = await storeEnd(runs, last, () => (hub.isClosing() ? 0 : deadline));
  // The next sweep finds it again.
  if (ended.kind === 'not-stored') throw ended.error;
  if (ended.kind !== 'stored') return undefined;
  logger.warn({ runId, status: ended.status }, 'a run of an instance that died was ended');
  return { status: ended.status, usage: run.usage, usageByModel: used };
}
