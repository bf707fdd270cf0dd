import { AppError, agentLimits, type LiveRunStatus, type Message, type SendMessage, type SseEvent } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { RunStore } from '../store/runs.ts';
import { createRun, type Run } from './run.ts';
import { hasEnded } from './run-state.ts';
import { type QueuePlace, type SessionQueue } from './session-queue.ts';
import { toSessionTitle } from './session-title.ts';
import { RunCancelled, toStreamError } from './stream-error.ts';

export interface TurnUser {
  did: string;
  /** The user's delegation to this agent, for calls downstream. */
  delegation?: string | undefined;
}

/** Everything a turn needs to know, checked before it is queued. */
export interface Turn {
  session: { sessionId: string; roomId: string; isNamed: boolean };
  user: TurnUser;
  requestId: string;
  body: SendMessage;
  model: string;
  timezone: string | undefined;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

export interface TurnHubParts {
  instance: string;
  runs: RunStore;
  queue: SessionQueue;
  logger: Logger;
  turnTimeoutMs: number;
  /** Does the turn: streams events through `run.emit` until it resolves; must stop soon after `run.signal` fires. */
  perform(turn: Turn, run: Run): Promise<Usage>;
  /** Hears every event of every run once. */
  onEvent(run: Run, event: SseEvent): void;
  onEnd(run: Run): void;
}

export type TurnHub = ReturnType<typeof createTurnHub>;

const checkpointMs = 2_000;

/** The one place turns go through: one at a time per session, numbered events, abort, and runs that outlive connections. */
export function createTurnHub(parts: TurnHubParts) {
  const { runs, queue, logger } = parts;
  /** Live runs and those that ended in the last minutes. */
  const known = new Map<string, Run>();
  const live = new Map<string, Set<Run>>();
  const active = new Set<Promise<void>>();

  async function submit(turn: Turn): Promise<Run> {
    const { sessionId } = turn.session;
    const ids = { runId: uuidv7(), sessionId, userDid: turn.user.did, requestId: turn.requestId, messageId: uuidv7() };
    const place = await queue.enter(sessionId, ids.runId);
    if (!place) throw new AppError('SESSION_BUSY', 'Too many messages of this session are waiting. Wait for an answer first.');
    const run = createRun(ids, (event) => parts.onEvent(run, event));
    addLive(run);
    try {
      await runs.begin({ ...ids, answerId: ids.messageId, instance: parts.instance, model: turn.model, question: toQuestion(turn) });
    } catch (error) {
      removeLive(run);
      known.delete(run.runId);
      await place.leave();
      throw error;
    }
    run.emit('run', { runId: run.runId, sessionId, requestId: run.requestId });
    const work = carryOut(turn, run, place).finally(() => active.delete(work));
    active.add(work);
    return run;
  }

  async function carryOut(turn: Turn, run: Run, place: QueuePlace): Promise<void> {
    let usage: Usage = { inputTokens: 0, outputTokens: 0 };
    const checkpoint = keepCheckpoints(run);
    const timeout = setTimeout(() => run.cancel(new RunCancelled('timeout')), parts.turnTimeoutMs);
    try {
      const cancelled = rejectOnAbort(run.signal);
      await Promise.race([place.turn, cancelled]);
      run.step('start');
      usage = await Promise.race([parts.perform(turn, run), cancelled]);
      run.step('complete');
    } catch (error) {
      endByError(run, error);
    } finally {
      clearInterval(checkpoint);
      clearTimeout(timeout);
    }
    removeLive(run);
    await settle(turn, run, usage);
    await place.leave();
    setTimeout(() => known.delete(run.runId), agentLimits.endedRunRetentionMs).unref();
  }

  function endByError(run: Run, error: unknown): void {
    const cause = run.signal.aborted ? run.signal.reason : error;
    if (cause instanceof RunCancelled && cause.by === 'user') {
      run.step('abort');
      return;
    }
    logger.warn({ err: cause, requestId: run.requestId, runId: run.runId }, 'a turn failed');
    run.emit('error', toStreamError(cause));
    run.step('fail');
  }

  /** Stores the answer, then sends `done`: who reads the session after `done` finds the answer there. */
  async function settle(turn: Turn, run: Run, usage: Usage): Promise<void> {
    if (!hasEnded(run.status)) throw new Error(`run ${run.runId} settled while ${run.status}`);
    const { status } = run;
    const answer = run.draft(status);
    const title = turn.session.isNamed ? undefined : toSessionTitle(turn.body.message);
    try {
      await runs.end({ runId: run.runId, sessionId: run.sessionId, status, answer, usage, title });
    } catch (error) {
      // The session was deleted meanwhile, or the database is away; the reader still gets the answer that was streamed.
      logger.warn({ err: error, requestId: run.requestId, runId: run.runId }, 'the answer could not be stored');
    }
    run.finish(answer);
    parts.onEnd(run);
  }

  function keepCheckpoints(run: Run): NodeJS.Timeout {
    let kept = 0;
    return setInterval(() => {
      if (run.frames.length === kept || run.status !== 'running') return;
      kept = run.frames.length;
      runs.checkpoint(run.runId, run.draft('failed')).catch((error) => logger.warn({ err: error }, 'a checkpoint failed'));
    }, checkpointMs);
  }

  function addLive(run: Run): void {
    known.set(run.runId, run);
    const runs = live.get(run.sessionId) ?? new Set();
    live.set(run.sessionId, runs.add(run));
  }

  function removeLive(run: Run): void {
    const runs = live.get(run.sessionId);
    runs?.delete(run);
    if (runs?.size === 0) live.delete(run.sessionId);
  }

  /** The running turn of a session, or the first that waits. */
  function current(sessionId: string): Run | undefined {
    const runs = [...(live.get(sessionId) ?? [])].filter((run) => !run.signal.aborted);
    return runs.find(({ status }) => status === 'running') ?? runs[0];
  }

  return {
    submit,

    /** A run of this process, live or ended in the last minutes. */
    find: (runId: string): Run | undefined => known.get(runId),

    live(sessionId: string): { runId: string; status: LiveRunStatus } | undefined {
      const run = current(sessionId);
      return run && { runId: run.runId, status: run.status as LiveRunStatus };
    },

    /** Stops the turn in flight; those that wait behind it go on. */
    abort(sessionId: string): boolean {
      const run = current(sessionId);
      run?.cancel(new RunCancelled('user'));
      return run !== undefined;
    },

    /** Stops everything of a session that is going away. */
    drop(sessionId: string): void {
      for (const run of live.get(sessionId) ?? []) run.cancel(new RunCancelled('user'));
    },

    /** Lets turns finish for a while, then ends the rest with what they have. */
    async close(graceMs: number): Promise<void> {
      const late = setTimeout(() => {
        for (const runs of live.values()) for (const run of runs) run.cancel(new RunCancelled('shutdown'));
      }, graceMs);
      await Promise.allSettled(active);
      clearTimeout(late);
    },
  };
}

function toQuestion({ body, requestId }: Turn): Message {
  return {
    id: uuidv7(),
    type: 'human',
    content: body.message,
    createdAt: new Date().toISOString(),
    status: 'complete',
    requestId,
    ...(body.attachments?.length && { attachments: body.attachments }),
  };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
