import type { Broadcast } from '../cluster/broadcast.ts';
import type { OwnedRun } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { LiveRun, LiveRuns } from './live-runs.ts';
import { RunCancelled } from './stream-error.ts';
import { createWaiters } from './waiters.ts';

export interface SessionQueueParts {
  runs: Pick<RunStore, 'start' | 'state'>;
  broadcast: Broadcast;
  live: LiveRuns;
  /** Refuses what the session waits for. */
  refuse(sessionId: string): Promise<void>;
}

export type SessionQueue = ReturnType<typeof createSessionQueue>;

/** One run of a session at a time, across instances: the queue is in the database, broadcasts make the next one start at once. */
export function createSessionQueue({ runs, broadcast, live, refuse }: SessionQueueParts) {
  const waiters = createWaiters({ pollMs: 1_000 });
  /** Sessions in which a run of another instance waits. */
  const awaited = new Set<string>();

  broadcast.onMessage((message) => {
    if (message.kind === 'ended') waiters.wake(message.sessionId);
    if (message.kind === 'waiting' && live.isInSession(message.sessionId)) awaited.add(message.sessionId);
  });

  return {
    /**
     * Resolves when the run is the first of its session; rejects when it is cancelled. A message counts as a refusal of what
     * the session waits for, also of what is asked only after it was sent, so the run refuses at every look.
     */
    async waitForPlace(entry: LiveRun): Promise<void> {
      const { run, owned } = entry;
      broadcast.publish({ kind: 'waiting', sessionId: run.sessionId });
      await waiters.wait(run.sessionId, run.signal, async () => {
        if (await runs.start(owned)) return true;
        await checkOwner(entry, runs);
        if (!run.signal.aborted) await refuse(run.sessionId);
        return undefined;
      });
    },

    /** A run of the session has ended here: the next one starts. */
    release(sessionId: string): void {
      waiters.wake(sessionId);
      if (awaited.delete(sessionId)) broadcast.publish({ kind: 'ended', sessionId });
    },
  };
}

/** A run that waits stops where nothing of it may begin any more. */
export async function checkOwner({ run, owned }: LiveRun, runs: Pick<RunStore, 'state'>): Promise<void> {
  const stop = await findStop(owned, runs);
  if (stop) run.cancel(stop);
}

/** Why nothing of a run may begin here any more: its session was deleted, its abort is confirmed, or it has another owner. */
export async function findStop(
  { runId, epoch }: OwnedRun,
  runs: Pick<RunStore, 'state'>,
): Promise<RunCancelled | undefined> {
  const state = await runs.state(runId);
  if (state && state.epoch > epoch) return new RunCancelled('new-owner');
  return !state || state.isAborting ? new RunCancelled('user') : undefined;
}
