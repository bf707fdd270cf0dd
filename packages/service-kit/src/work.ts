import { subscribe } from 'node:diagnostics_channel';
import { LRUCache } from 'lru-cache';

interface Regular {
  /** Time between rounds, varied by a tenth so that instances do not work in step; 0 turns the work off. */
  everyMs: number;
  firstMs?: number;
  /** One round. It may say when the next one is due. */
  work(setNext: (ms: number) => void): Promise<unknown>;
  /** Gets only the first of several faults in a row. */
  onFault(error: unknown): void;
}

/** Repeats work, one round at a time. `stop` waits for the running round. */
export function runEvery({ everyMs, firstMs = everyMs, work, onFault }: Regular) {
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isFailing = false;
  let isStopped = everyMs === 0;
  let isRunning = false;
  let isWanted = false;

  async function round(): Promise<void> {
    let nextMs = everyMs * (0.9 + Math.random() / 5);
    isRunning = true;
    isWanted = false;
    try {
      await work((ms) => {
        nextMs = ms;
      });
      isFailing = false;
    } catch (error) {
      if (!isFailing) onFault(error);
      isFailing = true;
    }
    isRunning = false;
    schedule(isWanted ? 0 : nextMs);
  }
  function schedule(ms: number): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      running = round();
    }, ms).unref();
  }
  schedule(firstMs);
  return {
    /** Begins the next round now, or right after the one that runs. */
    soon() {
      isWanted = true;
      clearTimeout(timer);
      if (!isRunning) schedule(0);
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

interface LimiterOptions {
  concurrency: number;
  maxWaiting: number;
  /** The longest wait; unlimited by default. */
  maxWaitMs?: number;
  /** Pauses after each task for as long as it took, so that others have at least half of the time. */
  pauses?: boolean;
  toError(): Error;
}

const maxPauseMs = 500;

/** Runs at most `concurrency` tasks at a time, in order; refuses if `maxWaiting` wait already, or after too long a wait. */
export function createLimiter({ concurrency, maxWaiting, maxWaitMs, pauses, toError }: LimiterOptions) {
  const waiting = new Set<() => void>();
  let running = 0;
  const wait = () =>
    new Promise<void>((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        waiting.delete(begin);
        resolve();
      };
      const refuse = () => {
        waiting.delete(begin);
        reject(toError());
      };
      const timer = maxWaitMs === undefined ? undefined : setTimeout(refuse, maxWaitMs);
      waiting.add(begin);
    });
  const release = () => {
    const [next] = waiting;
    if (next) next();
    else running -= 1;
  };
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running < concurrency) running += 1;
    else if (waiting.size >= maxWaiting) throw toError();
    else await wait();
    const began = performance.now();
    try {
      return await task();
    } finally {
      if (pauses) setTimeout(release, Math.min(performance.now() - began, maxPauseMs)).unref();
      else release();
    }
  };
}

/** Anyone can make keys, so the client address counts as well as the user. */
export interface QueueOwner {
  userDid: string;
  /** Undefined for an address that many users share. */
  client?: string | undefined;
}

/** Sockets that the servers of this process have accepted. */
let accepted = 0;
subscribe('net.server.socket', () => {
  accepted += 1;
});

/** Turns of the event loop for which costly work waits for new connections. */
const maxTurns = 200;

/** Node accepts one connection in a turn of its event loop, so a newcomer would wait for as many pieces of work as others connect. */
async function letOthersConnect(): Promise<void> {
  // Two in a row: the first `setImmediate` may only end the turn that is under way.
  for (let quietTurns = 0, turn = 0; quietTurns < 2 && turn < maxTurns; turn += 1) {
    const before = accepted;
    await new Promise(setImmediate);
    quietTurns = accepted === before ? quietTurns + 1 : 0;
  }
}

/** How many addresses and users are remembered by when they were served; unknown ones come first. */
const maxServed = 10_000;

const clientOf = ({ client, userDid }: QueueOwner) => client ?? userDid;
const userOf = ({ userDid }: QueueOwner) => userDid;

/** Runs one piece of costly work of each user at a time, and next that of whoever was served longest ago. */
export function createFairQueue(limits: { atOnce: number; waiting: number; waitingPerUser: number }) {
  const running: QueueOwner[] = [];
  const waiting: { owner: QueueOwner; start(isAccepted: boolean): void }[] = [];
  const served = new LRUCache<string, number>({ max: maxServed });
  let count = 0;

  function startNext(): void {
    const busyOf = (owner: QueueOwner) => running.filter((other) => clientOf(other) === clientOf(owner)).length;
    const servedAt = (name: string) => served.peek(name) ?? 0;
    const lastOf = (owner: QueueOwner) => Math.max(servedAt(clientOf(owner)), servedAt(userOf(owner)));
    while (running.length < limits.atOnce) {
      const [next] = waiting
        .filter(({ owner }) => !running.some((other) => userOf(other) === userOf(owner)))
        .sort(({ owner: one }, { owner: other }) => busyOf(one) - busyOf(other) || lastOf(one) - lastOf(other));
      if (!next) return;
      waiting.splice(waiting.indexOf(next), 1);
      running.push(next.owner);
      count += 1;
      served.set(clientOf(next.owner), count).set(userOf(next.owner), count);
      next.start(true);
    }
  }

  /** Refuses the newest work of the client that has most waiting. */
  function refuseOne(): void {
    const counts = new Map<string, number>();
    for (const { owner } of waiting) counts.set(clientOf(owner), (counts.get(clientOf(owner)) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const index = waiting.findLastIndex(({ owner }) => counts.get(clientOf(owner)) === most);
    waiting.splice(index, 1)[0]?.start(false);
  }

  return {
    async run<T>(owner: QueueOwner, work: () => Promise<T>): Promise<T | undefined> {
      const own = waiting.filter((other) => userOf(other.owner) === userOf(owner));
      if (own.length >= limits.waitingPerUser) return undefined;
      const isAccepted = await new Promise<boolean>((start) => {
        waiting.push({ owner, start });
        startNext();
        if (waiting.length > limits.waiting) refuseOne();
      });
      if (!isAccepted) return undefined;
      try {
        await letOthersConnect();
        return await work();
      } finally {
        running.splice(running.indexOf(owner), 1);
        // Work that waits for nothing would otherwise follow work without end, and nothing else would be served.
        setImmediate(startNext);
      }
    },
  };
}
