import { AppError, agentLimits } from '@palaver/contract';
import { LRUCache } from 'lru-cache';
import type { Broadcast } from '../cluster/broadcast.ts';
import type { OwnedRun } from '../store/run-transitions.ts';
import type { RunStore } from '../store/runs.ts';
import type { FrameKeeper } from './frames.ts';
import type { Turn } from './input.ts';
import { type Run, RunCancelled, TurnError } from './run.ts';
import { isElsewhere } from './transitions.ts';

export interface LiveRun {
  run: Run;
  turn: Turn;
  owned: OwnedRun;
  frames: FrameKeeper;
  /** Tools are running that must not run again. */
  mustStay: boolean;
  isDropped?: boolean;
  canMove: boolean;
  /** About the bytes of what its message brought and of the history it reads. */
  turnSize: number;
  isUnloaded?: boolean;
  /** What its message names the session; undefined if it has a name. */
  title: string | undefined;
  /** Or resumed, by `performance.now()`. */
  startedAt: number;
}

/** Frames are counted by their characters. */
export interface RunLimits {
  live: number;
  livePerUser: number;
  livePerClient: number;
  waiting: number;
  waitingPerClient: number;
  /** Of live runs, with what their turns hold; an answer of 100,000 words has about 15 MiB. */
  frames: number;
  framesPerUser: number;
  /** Of ended runs. What is beyond is read from the database. */
  endedFrames: number;
}

/** What a run takes beside its frames. */
const runSize = 4 * 1024;
const mebibyte = 1024 * 1024;
const defaultLimits: RunLimits = {
  live: agentLimits.liveRuns,
  livePerUser: agentLimits.liveRunsPerUser,
  livePerClient: agentLimits.liveRunsPerClient,
  waiting: agentLimits.waitingRuns,
  waitingPerClient: agentLimits.waitingRunsPerClient,
  frames: 96 * mebibyte,
  framesPerUser: 32 * mebibyte,
  endedFrames: 32 * mebibyte,
};

const tooLong = new TurnError(
  'TURN_LIMIT_EXCEEDED',
  'The answers under way are too long. Please ask for less at once.',
  { kind: 'limit', retryable: true },
);

/** The fuller it is, the less each one may have, so that there is room for whoever has nothing. */
const shareOf = (free: number, most: number) => Math.min(most, Math.ceil(free));

export type LiveRuns = ReturnType<typeof createLiveRuns>;

/** The runs of this process: live, or ended in the last minutes. */
export function createLiveRuns(limits: RunLimits = defaultLimits) {
  const ended = new LRUCache<string, Run>({
    maxSize: limits.endedFrames,
    ttl: agentLimits.endedRunRetentionMs,
    ttlAutopurge: true,
    dispose: (run, _id, reason) => {
      if (reason === 'evict' || reason === 'expire') run.frames.drop();
    },
  });
  const live = new Map<string, LiveRun>();
  const reserved = new Set<string>();
  const sizeOfRun = ({ run, turnSize }: LiveRun) => run.frames.size + turnSize;
  const size = (entries: LiveRun[]) => entries.reduce((sum, entry) => sum + sizeOfRun(entry), 0);
  const all = () => [...live.values()];
  const ofUser = (entries: LiveRun[], { user }: Turn) => entries.filter(({ run }) => run.userDid === user.did);
  const ofClient = (entries: LiveRun[], { client }: Turn) =>
    client === undefined ? [] : entries.filter(({ turn }) => turn.client === client);
  const isWaiting = ({ run }: LiveRun) => run.status === 'waiting';

  /** Why no other run of this turn's user and address can be live; undefined if one can. */
  function findLimit(turn: Turn, turnSize = 0): AppError | undefined {
    const counted = all().filter((entry) => !isWaiting(entry));
    const free = limits.live - counted.length;
    if (free <= 0)
      return new AppError('UNAVAILABLE', 'Too many answers are under way. Please send it again in a moment.');
    const isFull =
      ofUser(counted, turn).length >= shareOf(free / 4, limits.livePerUser) ||
      ofClient(counted, turn).length >= shareOf(free / 2, limits.livePerClient) ||
      size(ofUser(all(), turn)) + turnSize > limits.framesPerUser;
    return isFull
      ? new AppError('LIMIT_REACHED', 'You have too many answers under way. Wait for one, or answer what they ask.')
      : undefined;
  }

  /** Ends runs of whoever has most, the largest first, until the others have room; what was said so far is kept. */
  function makeRoom(entries: LiveRun[], limit: number): void {
    const going = entries.filter(({ run }) => !run.signal.aborted).sort((a, b) => sizeOfRun(b) - sizeOfRun(a));
    const ownersOf = ({ run, turn }: LiveRun) => [run.userDid, `from ${turn.client ?? run.userDid}`];
    while (size(going) > limit) {
      const sums = new Map<string, number>();
      for (const entry of going)
        for (const owner of ownersOf(entry)) sums.set(owner, (sums.get(owner) ?? 0) + sizeOfRun(entry));
      const most = going.map((entry) => Math.max(...ownersOf(entry).map((owner) => sums.get(owner) ?? 0)));
      const [next] = going.splice(most.indexOf(Math.max(...most)), 1);
      next?.run.cancel(tooLong);
    }
  }

  /** Not one that this instance has taken over again meanwhile. */
  function forget(entry: LiveRun): void {
    if (live.get(entry.run.runId) === entry) live.delete(entry.run.runId);
  }

  return {
    /** Before a write that may make this instance the owner of a run, or that ends it late: until then it is not live here. */
    reserve(runId: string): () => void {
      reserved.add(runId);
      return () => void reserved.delete(runId);
    },
    isOwn: (runId: string): boolean => live.has(runId) || reserved.has(runId),
    add(entry: LiveRun): void {
      reserved.delete(entry.run.runId);
      live.set(entry.run.runId, entry);
    },
    find(runId: string): Run | undefined {
      const entry = live.get(runId);
      return entry?.isDropped ? undefined : (entry?.run ?? ended.get(runId));
    },
    get: (runId: string): LiveRun | undefined => live.get(runId),
    all,
    isInSession: (sessionId: string): boolean => all().some(({ run }) => run.sessionId === sessionId),
    size: (): number => live.size,
    findLimit,
    hasRoom: (): boolean =>
      size(all()) < limits.frames && all().filter((entry) => !isWaiting(entry)).length < limits.live,
    /** Whether a run may wait for its user; it does not count as live meanwhile. */
    mayWait({ turn }: Pick<LiveRun, 'turn'>): boolean {
      const waiting = all().filter(isWaiting);
      const own = turn.client === undefined ? ofUser(waiting, turn) : ofClient(waiting, turn);
      return own.length < shareOf((limits.waiting - waiting.length) / 4, limits.waitingPerClient);
    },
    checkSize({ turn }: Pick<LiveRun, 'turn'>): void {
      makeRoom(ofUser(all(), turn), limits.framesPerUser);
      makeRoom(all(), limits.frames);
    },
    countOlderThan: (ms: number): number =>
      all().filter((entry) => !isWaiting(entry) && performance.now() - entry.startedAt > ms).length,

    cancel(runId: string): void {
      live.get(runId)?.run.cancel(new RunCancelled('user'));
    },

    /** The run has ended; it can be read for some more minutes. */
    retire(entry: LiveRun): void {
      const { run, isDropped } = entry;
      forget(entry);
      if (!isDropped) ended.set(run.runId, run, { size: run.frames.size + runSize });
    },

    /** The run continues on another instance: readers here come back for it. */
    leave(entry: LiveRun): void {
      forget(entry);
      entry.run.leave(new RunCancelled('new-owner'));
    },

    drop(sessionId: string): void {
      for (const entry of live.values()) {
        if (entry.run.sessionId !== sessionId) continue;
        entry.isDropped = true;
        entry.run.cancel(new RunCancelled('user'));
      }
      for (const run of ended.values()) if (run.sessionId === sessionId) ended.delete(run.runId);
    },
  };
}

/** Runs of this instance that wait: for their place in a session, or for an answer of their user. */
export function createWaiters({ pollMs }: { pollMs: number }) {
  const waiting = new Map<string, Set<() => void>>();

  return {
    /** All that wait under this name ask again: only the database knows who may continue. False if nobody does. */
    wake(name: string): boolean {
      for (const wake of waiting.get(name) ?? []) wake();
      return waiting.has(name);
    },

    /** Resolves with what `tryStart` gives; asks after every wake-up and every `pollMs`. Rejects with the reason of `signal`. */
    async wait<T>(name: string, signal: AbortSignal, tryStart: () => Promise<T | undefined>): Promise<T> {
      let woken = Promise.withResolvers<void>();
      const wake = () => woken.resolve();
      const waiters = waiting.get(name) ?? new Set();
      waiting.set(name, waiters.add(wake));
      signal.addEventListener('abort', wake);
      try {
        for (;;) {
          signal.throwIfAborted();
          woken = Promise.withResolvers<void>();
          // The database may be unreachable for a moment; the place in the queue is kept there.
          const started = await tryStart().catch(() => undefined);
          if (started !== undefined) return started;
          const timer = setTimeout(wake, pollMs);
          await woken.promise;
          clearTimeout(timer);
        }
      } finally {
        signal.removeEventListener('abort', wake);
        waiters.delete(wake);
        if (waiters.size === 0 && waiting.get(name) === waiters) waiting.delete(name);
      }
    },
  };
}

export interface SessionQueueParts {
  runs: Pick<RunStore, 'start' | 'state'>;
  broadcast: Broadcast;
  live: LiveRuns;
  refuse(sessionId: string): Promise<void>;
}

export type SessionQueue = ReturnType<typeof createSessionQueue>;

/** One run of a session at a time, across instances: the queue is in the database, broadcasts make the next one start at once. */
export function createSessionQueue({ runs, broadcast, live, refuse }: SessionQueueParts) {
  const waiters = createWaiters({ pollMs: 1_000 });
  const awaited = new Set<string>();

  broadcast.onMessage((message) => {
    if (message.kind === 'ended') waiters.wake(message.sessionId);
    if (message.kind === 'waiting' && live.isInSession(message.sessionId)) awaited.add(message.sessionId);
  });

  return {
    /** Resolves when the run is first of its session. It refuses at every look what the session waits for: that may be asked later. */
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

    callNext(sessionId: string): void {
      waiters.wake(sessionId);
      if (awaited.delete(sessionId)) broadcast.publish({ kind: 'ended', sessionId });
    },
  };
}

export async function checkOwner({ run, owned }: LiveRun, runs: Pick<RunStore, 'state'>): Promise<void> {
  const stop = await findStop(owned, runs);
  if (stop) run.cancel(stop);
}

/** Why nothing of a run may begin here any more: its session was deleted, its abort is confirmed, or another has it or has ended it. */
export async function findStop(
  { runId, epoch }: OwnedRun,
  runs: Pick<RunStore, 'state'>,
): Promise<RunCancelled | undefined> {
  const state = await runs.state(runId);
  if (state && isElsewhere(state, epoch)) return new RunCancelled('new-owner');
  return !state || state.isAborting ? new RunCancelled('user') : undefined;
}
