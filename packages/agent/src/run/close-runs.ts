import type { LiveRun, LiveRuns } from './live-runs.ts';
import { RunCancelled } from './stream-error.ts';

interface ClosingRuns {
  live: LiveRuns;
  /** Resolves when no run is active. */
  idle(): Promise<void>;
  graceMs: number;
  /** Whether there is another instance. */
  canMove: boolean;
}

/** Lets runs finish for a while. The others move to another instance if nothing would be repeated, or end with the text so far. */
export async function closeRuns({ live, idle, graceMs, canMove }: ClosingRuns): Promise<void> {
  const isMoving = (entry: LiveRun) => (canMove || entry.turn.isKeyed) && entry.canMove && !entry.isHeld;
  for (const entry of live.all()) {
    const { run } = entry;
    if (run.status === 'queued' && isMoving(entry)) run.cancel(new RunCancelled('handover'));
    // It waits in the database: the instance that receives the answer continues it.
    if (run.status === 'waiting') run.cancel(new RunCancelled(entry.canMove ? 'handover' : 'shutdown'));
  }
  const late = setTimeout(() => {
    for (const entry of live.all()) entry.run.cancel(new RunCancelled(isMoving(entry) ? 'handover' : 'shutdown'));
  }, graceMs);
  await idle();
  clearTimeout(late);
}
