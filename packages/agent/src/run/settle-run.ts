import { AppError, type Message } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { TurnEnd } from '../plugins/middleware.ts';
import type { RunEnd } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { LiveRun } from './live-runs.ts';
import { hasEnded } from './run-state.ts';
import { storeEnd } from './store-end.ts';
import { toStreamError } from './stream-error.ts';
import { toTurnEnd } from './turn-end.ts';

export interface SettleParts {
  runs: RunStore;
  logger: Logger;
  /** How long the end of a run is tried to be stored. */
  storeEndMs?: number;
  /** When this process stops trying; infinity while it is not closing. */
  closeBy(): number;
  /** An end could not be stored. */
  onNotStored?(): void;
  /** Gives what is called once the end is stored, or is not tried any more. */
  reserve(runId: string): () => void;
  /** An end that could not be stored at first is stored now. */
  onStoredLater(sessionId: string): void;
  onTurnEnd?(end: TurnEnd): Promise<void>;
}

const defaultStoreEndMs = 15_000;
const notStored = new AppError('UNAVAILABLE', 'The answer could not be stored. Please send the message again.');

/**
 * Stores the answer, then sends `done`: who reads the session after `done` finds the answer there. `moved`: the run has
 * another owner by now.
 */
export async function settleRun(entry: LiveRun, parts: SettleParts): Promise<'settled' | 'moved'> {
  const { run, turn, frames } = entry;
  const end = toRunEnd(entry);
  const deadline = Date.now() + (parts.storeEndMs ?? defaultStoreEndMs);
  const stored = await storeEnd(parts.runs, end, () => Math.min(deadline, parts.closeBy()));
  if (stored.kind === 'new-owner') return 'moved';
  if (stored.kind === 'not-stored') {
    parts.onNotStored?.();
    const { requestId, runId } = run;
    parts.logger.error({ err: stored.error, requestId, runId }, 'an answer could not be stored');
    void storeLater(end, parts).finally(parts.reserve(runId));
  }
  const final: Message = { ...end.answer, status: toFinalStatus(stored, end.status) };
  const used = { usage: { ...run.usage }, usageByModel: run.usageByModel() };
  await parts.onTurnEnd?.(toTurnEnd(turn, { runId: run.runId, status: final.status, ...used }));
  if (stored.kind === 'not-stored') run.finish(final, toStreamError(notStored));
  else {
    frames.announceEnd(final.status);
    run.finish(final);
  }
  return 'settled';
}

function toRunEnd({ run, title, owned, frames }: LiveRun): RunEnd {
  const { status, sessionId, usage } = run;
  if (!hasEnded(status)) throw new Error(`run ${run.runId} settled while ${status}`);
  return { ...owned, sessionId, status, answer: run.draft(status), usage, title, toFrames: frames.toLastFrames };
}

/** The reader has got an error; the text is kept as soon as the database is there again. */
async function storeLater(end: RunEnd, { runs, closeBy, onStoredLater }: SettleParts): Promise<void> {
  const failed: RunEnd = { ...end, status: 'failed', answer: { ...end.answer, status: 'failed' } };
  const stored = await storeEnd(runs, failed, () => (Number.isFinite(closeBy()) ? 0 : Number.POSITIVE_INFINITY));
  if (stored.kind === 'stored') onStoredLater(end.sessionId);
}

function toFinalStatus(
  stored: Exclude<Awaited<ReturnType<typeof storeEnd>>, { kind: 'new-owner' }>,
  status: Message['status'],
) {
  if (stored.kind === 'stored') return stored.status;
  return stored.kind === 'gone' ? status : 'failed';
}
