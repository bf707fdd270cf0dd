import { setImmediate as afterThisTurn } from 'node:timers/promises';
import {
  AppError,
  agentLimits,
  type LiveRunStatus,
  type Message,
  type SendMessage,
  type SseEvent,
} from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { TurnEnd } from '../plugins/plugin.ts';
import type { BlobStore, RuntimeContext } from '../plugins/runtime-context.ts';
import type { RunStore } from '../store/runs.ts';
import type { Peers } from './peers.ts';
import { rejectOnAbort } from './reject-on-abort.ts';
import { createRun, type Run } from './run.ts';
import { hasEnded } from './run-state.ts';
import type { QueuePlace } from './session-queue.ts';
import { toSessionTitle } from './session-title.ts';
import { RunCancelled, toStreamError } from './stream-error.ts';

export interface TurnUser {
  did: string;
  /** The user's delegation to this agent, for calls downstream. */
  delegation?: string | undefined;
}

/** Everything a turn needs to know, checked before it is queued. */
export interface Turn {
  /** Unique, where a request id may be repeated by its client. */
  sendId: string;
  session: { sessionId: string; roomId: string; isNamed: boolean };
  user: TurnUser;
  requestId: string;
  body: SendMessage;
  model: string;
  timezone: string | undefined;
  secrets: RuntimeContext['secrets'];
  blobs: BlobStore;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

export interface TurnHubParts {
  peers: Peers;
  runs: RunStore;
  logger: Logger;
  turnTimeoutMs: number;
  /**
   * Does the turn: streams events through `run.emit` until it resolves; must stop soon after `run.signal` fires. What the
   * model uses is added to `usage` step by step, so that it is known of an aborted turn as well.
   */
  perform(turn: Turn, run: Run, usage: Usage): Promise<void>;
  /** Hears every event of every run once. */
  onEvent(run: Run, event: SseEvent): void;
  onEnd(run: Run): void;
  /** Told of the end of every turn handed in, also of one that could not begin, before its reader is. Never rejects. */
  onTurnEnd?(end: TurnEnd): Promise<void>;
}

export type TurnHub = ReturnType<typeof createTurnHub>;

const checkpointMs = 2_000;
/** Most readers have read to the end by then. */
const packAfterMs = 3_000;

/** The one place turns go through: one at a time per session, numbered events, abort, and runs that outlive connections. */
export function createTurnHub(parts: TurnHubParts) {
  const { runs, peers, logger } = parts;
  /** Live runs and those that ended in the last minutes. */
  const known = new Map<string, Run>();
  const live = new Map<string, Set<Run>>();
  const active = new Set<Promise<void>>();
  let closing = false;

  async function submit(turn: Turn): Promise<Run> {
    if (closing) return refuse(turn, new AppError('UNAVAILABLE', 'The service is restarting. Please send it again.'));
    const { sessionId } = turn.session;
    const ids = { runId: uuidv7(), sessionId, userDid: turn.user.did, requestId: turn.requestId, messageId: uuidv7() };
    const place = await peers.queue.enter(sessionId, ids.runId);
    if (!place) {
      const message = 'Too many messages of this session are waiting. Wait for an answer first.';
      return refuse(turn, new AppError('SESSION_BUSY', message));
    }
    const run = createRun(ids, {
      onEvent: (event) => parts.onEvent(run, event),
      onFrame: (frame) => peers.publishFrame(ids.runId, frame),
    });
    addLive(run);
    try {
      await runs.begin({
        ...ids,
        answerId: ids.messageId,
        instance: peers.instance,
        model: turn.model,
        question: toQuestion(turn),
      });
    } catch (error) {
      removeLive(run);
      known.delete(run.runId);
      await place.leave();
      return refuse(turn, error);
    }
    run.emit('run', { runId: run.runId, sessionId, requestId: run.requestId });
    const work = carryOut(turn, run, place).finally(() => active.delete(work));
    active.add(work);
    return run;
  }

  async function refuse(turn: Turn, error: unknown): Promise<never> {
    await parts.onTurnEnd?.(toTurnEnd(turn));
    throw error;
  }

  async function carryOut(turn: Turn, run: Run, place: QueuePlace): Promise<void> {
    const usage: Usage = { inputTokens: 0, outputTokens: 0 };
    const checkpoint = keepCheckpoints(run);
    const timeout = setTimeout(() => run.cancel(new RunCancelled('timeout')), parts.turnTimeoutMs);
    try {
      // The first frame goes out when this turn of the event loop is over; what follows would hold it up.
      await afterThisTurn();
      // Not before: a cancellation in the meantime would be a rejection nobody hears, which ends the process.
      const cancelled = rejectOnAbort(run.signal);
      await Promise.race([cancelled, place.turn]);
      run.step('start');
      await Promise.race([parts.perform(turn, run, usage), cancelled]);
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
    setTimeout(() => run.frames.pack(), packAfterMs).unref();
    setTimeout(() => known.delete(run.runId), agentLimits.endedRunRetentionMs).unref();
  }

  function endByError(run: Run, error: unknown): void {
    const cause = run.signal.aborted ? run.signal.reason : error;
    run.stopCalls();
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
    await parts.onTurnEnd?.(toTurnEnd(turn, { runId: run.runId, status, usage: { ...usage } }));
    run.finish(answer);
    parts.onEnd(run);
  }

  function keepCheckpoints(run: Run): NodeJS.Timeout {
    let kept = 0;
    return setInterval(() => {
      if (run.frames.length === kept || run.status !== 'running') return;
      kept = run.frames.length;
      runs
        .checkpoint(run.runId, run.draft('failed'))
        .catch((error) => logger.warn({ err: error }, 'a checkpoint failed'));
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

  function abortHere(sessionId: string): boolean {
    const run = current(sessionId);
    run?.cancel(new RunCancelled('user'));
    return run !== undefined;
  }

  function dropHere(sessionId: string): void {
    for (const run of live.get(sessionId) ?? []) run.cancel(new RunCancelled('user'));
    for (const run of known.values()) if (run.sessionId === sessionId) known.delete(run.runId);
  }

  peers.onTold(({ kind, sessionId }) => {
    if (kind === 'abort') abortHere(sessionId);
    else dropHere(sessionId);
  });

  return {
    submit,

    /** A run of this process, live or ended in the last minutes. */
    find: (runId: string): Run | undefined => known.get(runId),

    async live(sessionId: string): Promise<{ runId: string; status: LiveRunStatus } | undefined> {
      const run = current(sessionId);
      if (run?.status === 'running') return { runId: run.runId, status: 'running' };
      const [runId] = await peers.queue.list(sessionId);
      if (runId === undefined) return undefined;
      return { runId, status: runId === run?.runId ? (run.status as LiveRunStatus) : 'running' };
    },

    /** Stops the turn in flight, on whichever instance it runs; those that wait behind it go on. */
    async abort(sessionId: string): Promise<boolean> {
      const [first] = await peers.queue.list(sessionId);
      if (first === undefined) return false;
      if (known.has(first)) return abortHere(sessionId);
      peers.tell({ kind: 'abort', sessionId });
      return true;
    },

    /** Stops and forgets everything of a session that is going away. */
    drop(sessionId: string): void {
      dropHere(sessionId);
      peers.tell({ kind: 'drop', sessionId });
    },

    /** Lets turns finish for a while, then ends the rest with what they have. */
    async close(graceMs: number): Promise<void> {
      closing = true;
      const late = setTimeout(() => {
        for (const runs of live.values()) for (const run of runs) run.cancel(new RunCancelled('shutdown'));
      }, graceMs);
      await Promise.allSettled(active);
      clearTimeout(late);
    },
  };
}

function toTurnEnd(
  { sendId, user, session, model }: Turn,
  end: Pick<TurnEnd, 'runId' | 'status' | 'usage'> = {
    runId: undefined,
    status: 'refused',
    usage: { inputTokens: 0, outputTokens: 0 },
  },
): TurnEnd {
  return { sendId, userDid: user.did, sessionId: session.sessionId, model, ...end };
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
