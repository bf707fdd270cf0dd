import type { LiveRunStatus, SseEvent } from '@palaver/contract';
import type { Broadcast } from '../cluster/broadcast.ts';
import type { StoredStep } from '../store/interrupted-runs.ts';
import type { OwnedRun } from '../store/run-records.ts';
import { type Begun, type CarryOutParts, carryOutRun } from './carry-out-run.ts';
import { keepFrames } from './keep-frames.ts';
import type { LiveRun, LiveRuns } from './live-runs.ts';
import { createRun, type Run, type RunIds } from './run.ts';
import { toStoredInput } from './run-input.ts';
import { usageOf } from './run-steps.ts';
import type { SessionClients } from './session-clients.ts';
import { toSessionTitle } from './session-title.ts';
import { type SettleParts, settleRun } from './settle-run.ts';
import { RunCancelled } from './stream-error.ts';
import { type Turn, turnSizeOf } from './turn.ts';

export interface RunStarterParts extends CarryOutParts, Omit<SettleParts, 'reserve' | 'onStoredLater'> {
  live: LiveRuns;
  broadcast: Broadcast;
  clients: Pick<SessionClients, 'notify'>;
  /** The time of messages: that of the database, if instances share one. */
  now?(): number;
}

interface Start extends Begun {
  ids: RunIds;
  status: LiveRunStatus;
  owned: OwnedRun;
  /** Frames of an earlier owner. */
  earlier: string;
  steps: StoredStep[];
  userMessageId?: string;
}

/** Characters of frames after which the memory of all live runs is looked at again. */
const checkEvery = 256 * 1024;

/** Starts runs of this instance and follows each until its end is stored. */
export function createRunStarter(parts: RunStarterParts) {
  const { runs, live, queue, broadcast, clients, logger, now = Date.now } = parts;
  const active = new Set<Promise<void>>();
  const settling: SettleParts = { ...parts, reserve: live.reserve, onStoredLater: queue.release };

  async function carryOut(entry: LiveRun, begun: Begun): Promise<void> {
    const { sessionId, messageId } = entry.run;
    const outcome = await carryOutRun(entry, begun, parts);
    if (outcome === 'moved' || (await settleRun(entry, settling)) === 'moved') return live.leave(entry);
    live.retire(entry);
    clients.notify(sessionId, 'message_cache_invalidation', { sessionId, messageId });
    queue.release(sessionId);
  }

  return {
    start(turn: Turn, { ids, owned, earlier, userMessageId, ...begun }: Start): Run {
      const { runId, sessionId, requestId, messageId } = ids;
      let checked = 0;
      const onEvent = (event: SseEvent) => {
        notifyClients(clients, sessionId, event);
        if (run.frames.size < checked + checkEvery) return;
        checked = run.frames.size;
        live.checkSize(entry);
      };
      const run = createRun(ids, { onEvent, earlier, now: now() });
      run.addUsage(usageOf(begun.steps));
      const stored = run.frames.length;
      if (stored === 0) run.emit('run', { runId, sessionId, requestId, messageId, userMessageId });
      const onNewOwner = () => run.cancel(new RunCancelled('new-owner'));
      const frames = keepFrames(run, owned, { runs, broadcast, logger, stored, onNewOwner });
      const canMove = toStoredInput(turn) !== null;
      const title = turn.session.isNamed ? undefined : toSessionTitle(turn.body.message);
      const own = { isHeld: false, canMove, startedAt: performance.now(), turnSize: turnSizeOf(turn), title };
      const entry: LiveRun = { run, turn, owned, frames, ...own };
      live.add(entry);
      live.checkSize(entry);
      const work = carryOut(entry, begun)
        .catch((error) => logger.error({ err: error, runId }, 'a run ended with an internal error'))
        .finally(() => active.delete(work));
      active.add(work);
      return run;
    },
    /** Resolves when no run is active. */
    async idle(): Promise<void> {
      while (active.size > 0) await Promise.allSettled(active);
    },
  };
}

/** The other clients of the user see that a turn has begun and what it shows. */
function notifyClients(clients: Pick<SessionClients, 'notify'>, sessionId: string, { name, data }: SseEvent): void {
  if (name === 'run') clients.notify(sessionId, 'message_cache_invalidation', { sessionId });
  switch (name) {
    case 'tool_call':
    case 'approval_request':
    case 'render_component':
    case 'router_update':
      clients.notify(sessionId, name, data as never);
  }
}
