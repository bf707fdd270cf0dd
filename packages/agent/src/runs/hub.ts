import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type LiveRunStatus } from '@palaver/contract';
import type { LiveRunReply } from '@palaver/contract/internal';
import { createFairQueue } from '@palaver/service-kit/internal';
import { faultKind } from '@palaver/store/internal';
import { v7 as uuidv7 } from 'uuid';
import type { TurnEnd } from '../define/middleware.ts';
import type { OwnedRun } from '../store/run-transitions.ts';
import type { BeginResult, RunBegin, SendKey } from '../store/run-writes.ts';
import type { RunStore, StoredStep } from '../store/runs.ts';
import type { RunApprovals } from './approvals.ts';
import { type Turn, toQuestion, toStoredInput, toTurnEnd, turnSizeOf } from './input.ts';
import { createOwner, type OwnerParts } from './owner.ts';
import { createLiveRuns, createSessionQueue, type LiveRun, type RunLimits } from './queue.ts';
import { type Run, RunCancelled, type RunIds } from './run.ts';

export interface TurnHubParts extends Omit<OwnerParts, 'live' | 'queue' | 'closeBy'> {
  limits?: RunLimits;
  instance: string;
  approvals: OwnerParts['approvals'] & Pick<RunApprovals, 'refuse' | 'pending'>;
  /** Called at the end of every turn, also of one that could not begin, before its reader gets `done`. Never rejects. */
  onTurnEnd?(end: TurnEnd): Promise<void>;
  /** A run that was aborted or released is not of this instance: it may have no owner any more. */
  onElsewhere?(): void;
}

/** A run of a dead owner as it was once this instance owned it. */
export interface ClaimedRun {
  epoch: number;
  status: LiveRunStatus;
  frames: string;
  steps: StoredStep[];
}

export interface AbortOptions {
  /** This run, even if it waits behind another. */
  runId?: string | undefined;
  elapsedMs?(): number;
}

export type TurnHub = ReturnType<typeof createTurnHub>;

/** Larger turns are stored a few at a time, in fair order: each keeps the database for as long as dozens of others. */
const largeTurn = 128 * 1024;
const largeAtOnce = { atOnce: 2, waiting: 200, waitingPerUser: 40 };
/** The time to store an end, twice. */
const overdueMs = 30_000;
/** The part of a shutdown's time that is reserved for storing ends. */
const closingStoreMs = 1_500;

/** Every turn goes through it: one at a time per session, numbered events, abort, and runs that outlive connections. */
export function createTurnHub(parts: TurnHubParts) {
  const { runs, broadcast, logger, instance, now = Date.now } = parts;
  const live = createLiveRuns(parts.limits);
  const queue = createSessionQueue({ runs, broadcast, live, refuse: parts.approvals.refuse });
  const large = createFairQueue(largeAtOnce);
  let closeBy = Number.POSITIVE_INFINITY;
  const isClosing = () => Number.isFinite(closeBy);
  const { own, idle } = createOwner({ ...parts, live, queue, closeBy: () => closeBy });
  /** Set once the instance closes; `isOver`: turns have no more time. */
  let closing: { canMove: boolean; isOver: boolean } | undefined;
  broadcast.onMessage((message) => {
    if (message.kind === 'follow') live.get(message.runId)?.frames.follow();
    if (message.kind === 'abort') live.cancel(message.runId);
    if (message.kind === 'drop') live.drop(message.sessionId);
  });

  /** Cancels a run that a closing instance does not carry on with. One whose begin or take-over settles late may come after the others. */
  function leaveIfClosing(entry: LiveRun | undefined): void {
    if (!closing || !entry) return;
    const { run, turn } = entry;
    // A run that waits does so in the database: the instance that receives the answer continues it.
    const isWaiting = run.status === 'waiting';
    const canMove = entry.canMove && (isWaiting || ((closing.canMove || turn.isKeyed) && !entry.mustStay));
    if (closing.isOver || isWaiting || (run.status === 'queued' && canMove))
      run.cancel(new RunCancelled(canMove ? 'handover' : 'shutdown'));
  }

  /** A turn that does not begin; plugins that set something aside for it give that back. */
  async function refuse(turn: Turn): Promise<void> {
    turn.blobs.release();
    await parts.onTurnEnd?.(toTurnEnd(turn));
  }

  async function ownBegun(turn: Turn, begun: BegunRun | KnownRun): Promise<Run | KnownRun> {
    if ('known' in begun) {
      await refuse(turn);
      return begun;
    }
    const { aborted, ...owning } = begun;
    const run = own(turn, { ...owning, earlier: '', steps: [] });
    leaveIfClosing(live.get(run.runId));
    for (const runId of aborted) stop(runId);
    return run;
  }

  async function begin(turn: Turn, send?: SendKey): Promise<Run | KnownRun> {
    try {
      if (isClosing()) throw new AppError('UNAVAILABLE', 'The service is restarting. Please send it again.');
      const size = turnSizeOf(turn);
      const limit = live.findLimit(turn, size);
      if (limit) throw limit;
      const options = { runs, instance, send, now: now(), reserve: live.reserve, isClosing };
      const store = () => beginRun(turn, options);
      const begun =
        size > largeTurn ? await large.run({ userDid: turn.user.did, client: turn.client }, store) : await store();
      if (!begun)
        throw new AppError('UNAVAILABLE', 'Too many large messages are waiting. Please try again in a moment.');
      return await ownBegun(turn, begun);
    } catch (error) {
      if (error instanceof UnsettledBegin) {
        // Nothing was promised, but what may be stored is carried out: another request may have found it.
        void error.settled
          .then((begun) => ownBegun(turn, begun))
          .catch((later) => (later instanceof AppError ? refuse(turn) : turn.blobs.release()));
        throw error.cause;
      }
      await refuse(turn);
      throw error;
    }
  }

  function stop(runId: string): void {
    if (live.get(runId)) live.cancel(runId);
    else {
      broadcast.publish({ kind: 'abort', runId });
      parts.onElsewhere?.();
    }
  }

  return {
    beginOnce: begin,
    begin: async (turn: Turn): Promise<Run> => (await begin(turn)) as Run,

    /** Continues a run whose owner died or handed it over, where there is a turn and `claim` gives the run to this instance. */
    async takeOver(
      { runId, sessionId, userDid, requestId, messageId }: RunIds,
      turn: Turn | undefined,
      claim: () => Promise<ClaimedRun | undefined>,
    ): Promise<boolean> {
      const ids = { runId, sessionId, userDid, requestId, messageId };
      const leave = live.reserve(runId);
      try {
        const claimed = await claim();
        if (!claimed || !turn) return false;
        const { epoch, status, frames, steps } = claimed;
        own(turn, { ids, status, owned: { runId, epoch }, earlier: frames, steps });
        leaveIfClosing(live.get(runId));
        return true;
      } finally {
        leave();
      }
    },

    find: live.find,

    async live(sessionId: string): Promise<LiveRunReply['run']> {
      const [first] = await runs.live(sessionId);
      if (first?.status !== 'waiting') return first ?? null;
      return { ...first, approvals: await parts.approvals.pending(first.runId) };
    },

    /** Stops the running turn, or the run that is named, on any instance. True once the abort is stored in the database. */
    async abort(sessionId: string, { runId, elapsedMs = () => 0 }: AbortOptions = {}): Promise<boolean> {
      const waiting = await runs.live(sessionId);
      const stopped = runId === undefined ? waiting[0] : waiting.find((run) => run.runId === runId);
      if (!stopped || !(await runs.requestAbort(stopped.runId, runId === undefined ? elapsedMs() : 0))) return false;
      stop(stopped.runId);
      return true;
    },

    drop(sessionId: string): void {
      live.drop(sessionId);
      broadcast.publish({ kind: 'drop', sessionId });
    },

    /** Cancels runs that are marked as aborted or deleted (a broadcast may be lost) and releases runs that are not here (the reply to a begin may be). */
    async checkOwned(): Promise<void> {
      const here = live.all();
      const all = await runs.ofInstance(instance);
      for (const { runId, isAborting } of all) if (isAborting) live.cancel(runId);
      const stored = new Set(all.map(({ runId }) => runId));
      for (const { run } of here)
        if (!stored.has(run.runId) && !(await runs.state(run.runId))) live.drop(run.sessionId);
      for (const { isAborting: _, ...owned } of all) {
        if (live.isOwn(owned.runId) || !(await runs.release(owned))) continue;
        logger.warn({ runId: owned.runId }, 'a run that nobody carried out was released');
        parts.onElsewhere?.();
      }
    },

    isClosing,
    hasRoom: live.hasRoom,
    size: live.size,
    /** How many of them should have ended by now, including the time to store them. */
    countOverdue: () => live.countOlderThan(parts.turnTimeoutMs + overdueMs),

    /** Lets runs finish for a while. The others move to another instance if nothing would be repeated, or end with the text so far. */
    async close(graceMs: number, canMove = false): Promise<void> {
      closeBy = Date.now() + graceMs + closingStoreMs;
      const leave = (isOver: boolean) => {
        closing = { canMove, isOver };
        for (const entry of live.all()) leaveIfClosing(entry);
      };
      leave(false);
      const late = setTimeout(leave, graceMs, true);
      await idle();
      clearTimeout(late);
      leave(true);
    },
  };
}

interface BegunRun {
  ids: RunIds;
  owned: OwnedRun;
  status: LiveRunStatus;
  userMessageId: string;
  aborted: string[];
}

export type KnownRun = { known: { runId: string; bodyHash: string } };

interface BeginParts {
  runs: RunStore;
  instance: string;
  send: SendKey | undefined;
  now: number;
  reserve(runId: string): () => void;
  isClosing?(): boolean;
}

class UnsettledBegin extends Error {
  /** Resolves once it is known. Rejects where it is not tried any more: a run that is there is found by the next sweep. */
  readonly settled: Promise<BegunRun | KnownRun>;

  constructor(cause: unknown, settled: Promise<BegunRun | KnownRun>) {
    super('the outcome of a begin is unknown', { cause });
    this.settled = settled;
    settled.catch(() => {});
  }
}

/** How long a request waits for the outcome after the database has failed it. */
const waitMs = 5_000;
const settleMs = 60_000;
const maxDelayMs = 2_000;

/** Stores a new run and its question in the queue of its session; throws where it is not taken in. */
export async function beginRun(
  turn: Turn,
  { runs, instance, send, now, reserve, isClosing = () => false }: BeginParts,
): Promise<BegunRun | KnownRun> {
  const { sessionId } = turn.session;
  const ids = { runId: uuidv7(), sessionId, userDid: turn.user.did, requestId: turn.requestId, messageId: uuidv7() };
  const input = toStoredInput(turn);
  const question = toQuestion(turn, now);
  const begin: RunBegin = { ...ids, answerId: ids.messageId, instance, model: turn.model, question, input, send };
  const leave = reserve(ids.runId);
  const toBegun = (begun: BeginResult) => {
    if (begun.kind !== 'begun') leave();
    return toOutcome(begun, ids, question.id);
  };
  try {
    return toBegun(await runs.begin(begin));
  } catch (error) {
    if (!isUnknown(error)) {
      leave();
      throw error;
    }
    const settled = beginAgain(begin, { runs, isClosing }).then(toBegun);
    settled.catch(leave);
    const inTime = await Promise.race([settled, sleep(waitMs, undefined, { ref: false })]).catch((later) => {
      if (!isUnknown(later)) throw later;
    });
    if (!inTime) throw new UnsettledBegin(error, settled);
    return inTime;
  }
}

/** The database did not answer: the begin may have been committed, or may be yet. */
const isUnknown = (error: unknown) => ['unreachable', 'overloaded'].includes(faultKind(error) ?? '');

/** The same begin until its outcome is known: one that was committed is found, and one that comes late is refused by its id. */
async function beginAgain(
  begin: RunBegin,
  { runs, isClosing }: Pick<Required<BeginParts>, 'runs' | 'isClosing'>,
): Promise<BeginResult> {
  const until = Date.now() + settleMs;
  for (let delay = 50; ; delay = Math.min(2 * delay, maxDelayMs)) {
    await sleep(delay, undefined, { ref: false });
    try {
      return await runs.begin({ ...begin, isRepeated: true });
    } catch (error) {
      if (!isUnknown(error) || isClosing() || Date.now() > until) throw error;
    }
  }
}

const refusals = {
  busy: ['SESSION_BUSY', 'Too many messages of this session are waiting. Wait for an answer first.'],
  gone: ['SESSION_NOT_FOUND', 'There is no such session.'],
  taken: ['CONFLICT', 'There is a message with this id. Send it with another messageId, or without.'],
  replaced: ['CONFLICT', 'Another message has replaced this question.'],
} as const;

function toOutcome(begun: BeginResult, ids: RunIds, userMessageId: string): BegunRun | KnownRun {
  if (begun.kind === 'known') return { known: { runId: begun.runId, bodyHash: begun.bodyHash } };
  if (begun.kind === 'begun') {
    const { status, epoch, aborted } = begun;
    return { ids, owned: { runId: ids.runId, epoch }, status, userMessageId, aborted };
  }
  if (begun.kind !== 'moved') {
    const [code, message] = refusals[begun.kind];
    throw new AppError(code, message);
  }
  const cause = new AppError('UNAVAILABLE', 'Another instance answers this message. Read the session for it.');
  throw new UnsettledBegin(cause, Promise.reject(new Error('the run has another owner')));
}
