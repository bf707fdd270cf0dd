import type { Broadcast } from '../cluster/broadcast.ts';
import type { OwnedRun } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { LiveRuns } from './live-runs.ts';

export interface AbortOptions {
  /** This run, even if it waits behind another. */
  runId?: string | undefined;
  /** How long ago the request arrived. */
  elapsedMs?(): number;
}

export interface RunAborterParts {
  runs: RunStore;
  live: LiveRuns;
  broadcast: Broadcast;
  /** A run that was aborted or released is not of this instance: it may have no owner any more. */
  onElsewhere?(): void;
}

/** Stops runs on any instance. */
export function createRunAborter({ runs, live, broadcast, onElsewhere }: RunAborterParts) {
  broadcast.onMessage((message) => {
    if (message.kind === 'abort') live.cancel(message.runId);
    if (message.kind === 'drop') live.drop(message.sessionId);
  });

  /** Ends a run whose abort is stored in the database. */
  function stop(runId: string): void {
    if (live.get(runId)) {
      live.cancel(runId);
      return;
    }
    broadcast.publish({ kind: 'abort', runId });
    onElsewhere?.();
  }

  return {
    stop,
    /**
     * Stops the running turn, or the run that is named; those that wait behind it follow. Returns true for a run that ends as
     * aborted: the abort is stored in the database.
     */
    async abort(sessionId: string, { runId, elapsedMs = () => 0 }: AbortOptions = {}): Promise<boolean> {
      const waiting = await runs.live(sessionId);
      const stopped = runId === undefined ? waiting[0] : waiting.find((run) => run.runId === runId);
      if (!stopped || !(await runs.requestAbort(stopped.runId, runId === undefined ? elapsedMs() : 0))) return false;
      stop(stopped.runId);
      return true;
    },
    /** Cancels runs of this instance that the database marks as aborted: the broadcast may have been lost. */
    cancelAborted(owned: readonly (OwnedRun & { isAborting: boolean })[]): void {
      for (const { runId, isAborting } of owned) if (isAborting) live.cancel(runId);
    },
    /** Stops and removes everything of a session that is being deleted. */
    drop(sessionId: string): void {
      live.drop(sessionId);
      broadcast.publish({ kind: 'drop', sessionId });
    },
  };
}
