import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import type { Cluster } from '../cluster/create-cluster.ts';
import { createInstanceStore } from '../store/instances.ts';
import { deleteExpired, isFullBatch, type RetentionRules } from '../store/retention.ts';
import type { AgentDatabase } from '../store/schema.ts';
import type { RunApprovals } from './run-approvals.ts';
import { type SweepParts, sweepRuns } from './sweep-runs.ts';
import type { TurnHub } from './turn-hub.ts';

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
    /** Seconds since runs of dead instances were last looked for. */
    lagSeconds: () => (performance.now() - sweptAt) / 1000,
    async stop(): Promise<void> {
      // Work under way may take a lease, so it ends before the leases of this instance are freed.
      await Promise.all([sweeping, ...regular.map((work) => work.stop())]);
    },
  };
}
