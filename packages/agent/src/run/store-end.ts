import { setTimeout as sleep } from 'node:timers/promises';
import type { EndedRunStatus } from '@palaver/contract';
import type { RunEnd } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import { hasEnded } from './run-state.ts';

export type StoredEnd =
  | { kind: 'stored'; status: EndedRunStatus }
  /** The session was deleted meanwhile. */
  | { kind: 'gone' }
  | { kind: 'new-owner' }
  | { kind: 'not-stored'; error: unknown };

const firstDelayMs = 50;
const maxDelayMs = 2_000;

/** Stores the end of a run, and tries again with growing pauses until `deadline`. */
export async function storeEnd(
  runs: Pick<RunStore, 'end' | 'state'>,
  end: RunEnd,
  deadline: () => number,
): Promise<StoredEnd> {
  for (let delay = firstDelayMs; ; delay = Math.min(2 * delay, maxDelayMs)) {
    try {
      const status = await runs.end(end);
      return status ? { kind: 'stored', status } : await findOwner(runs, end);
    } catch (error) {
      if (Date.now() + delay > deadline()) return { kind: 'not-stored', error };
    }
    await sleep(delay);
  }
}

/** An earlier try may have been committed although its answer was lost. */
async function findOwner(runs: Pick<RunStore, 'state'>, { runId, epoch }: RunEnd): Promise<StoredEnd> {
  const state = await runs.state(runId);
  if (!state) return { kind: 'gone' };
  return state.epoch === epoch && hasEnded(state.status)
    ? { kind: 'stored', status: state.status }
    : { kind: 'new-owner' };
}
