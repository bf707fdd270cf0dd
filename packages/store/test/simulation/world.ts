import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/** One process of an instance: a restarted instance is another one. */
export interface Process {
  readonly name: string;
  isDead: boolean;
  /** Nothing of it happens before. */
  frozenUntil: number;
  /** It reaches neither the database nor other processes before. */
  cutOffUntil: number;
  /** Its signs of life do not reach the database before, and everything else does. */
  silentUntil: number;
  /** How far its clock is ahead. */
  skewMs: number;
}

interface Event {
  at: number;
  order: number;
  process: Process | undefined;
  isCancelled?: boolean;
  run(): void;
}

export type World = ReturnType<typeof createWorld>;

const inProcess = new AsyncLocalStorage<Process | undefined>();
const real = { setImmediate: globalThis.setImmediate, Date: globalThis.Date, random: Math.random };
let current: World | undefined;
const stepsInTurn = 50;

/**
 * One virtual clock and everything that is to happen. What happens is the seed's doing alone: every wait of every process ends
 * here, one at a time, and before the next one all that follows from it at once is done.
 */
export function createWorld(seed: number) {
  const random = createRandom(seed);
  const events: Event[] = [];
  const notes: { at: number; process: string; text: string }[] = [];
  // Later seeds are later in time, because ids of version 7 never go back in one process.
  const start = 1_800_000_000_000 + seed * 1_000_000;
  let now = start;
  /** Calls of a server outside of the world, which stands still until they reply. */
  let outside = 0;

  const isBefore = (a: Event, b: Event) => a.at < b.at || (a.at === b.at && a.order < b.order);
  function push(event: Event): void {
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = events[parent] as Event;
      if (!isBefore(event, above)) break;
      events[at] = above;
      at = parent;
    }
    events[at] = event;
  }
  function pop(): Event | undefined {
    const [first] = events;
    const last = events.pop();
    if (!first || !last || events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1] as Event, events[child] as Event)) child += 1;
      if (!isBefore(events[child] as Event, last)) break;
      events[at] = events[child] as Event;
      at = child;
    }
    events[at] = last;
    return first;
  }

  function next(until: number): boolean {
    for (;;) {
      const event = events[0];
      if (!event || event.at > start + until) return false;
      pop();
      const { process } = event;
      if (event.isCancelled || process?.isDead) continue;
      now = Math.max(now, event.at);
      if (process && process.frozenUntil > now) {
        event.at = process.frozenUntil + random() * 5;
        push(event);
        continue;
      }
      inProcess.run(process, event.run);
      return true;
    }
  }

  const world = {
    seed,
    random,
    /** True once in `times`. */
    oneIn: (times: number) => random() * times < 1,
    between: (least: number, most: number) => least + random() * (most - least),
    pick: <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T,
    now: () => now,
    elapsedMs: () => now - start,
    process: () => inProcess.getStore(),
    isSilent: () => (inProcess.getStore()?.silentUntil ?? 0) > now,
    within: <T>(process: Process | undefined, run: () => T): T => inProcess.run(process, run),
    /** What happened, in order. */
    log: () =>
      notes.map(
        ({ at, process, text }) => `${((at - start) / 1000).toFixed(3).padStart(8)} ${process.padEnd(4)} ${text}`,
      ),
    note: (text: string) => void notes.push({ at: now, process: inProcess.getStore()?.name ?? '', text }),
    /** Does something later, for a process or for nobody. */
    after(ms: number, run: () => void, process: Process | null = inProcess.getStore() ?? null): Event {
      const event = { at: now + Math.max(0, ms), order: random(), process: process ?? undefined, run };
      push(event);
      return event;
    },
    wait: (ms: number): Promise<void> => new Promise((resolve) => world.after(ms, resolve)),
    /** Lets nothing happen until this is over: its time is none of the world's. */
    async standStill<T>(call: () => Promise<T>): Promise<T> {
      outside += 1;
      try {
        return await call();
      } finally {
        outside -= 1;
      }
    },
    /** As if everything had stood still for so long. */
    leap: (ms: number) => {
      now += Math.max(0, ms);
    },
    /** How long a message takes: mostly a moment, sometimes long. */
    latency(): number {
      const kind = random();
      if (kind < 0.7) return random() * 4;
      if (kind < 0.95) return random() * 100;
      return random() * 2_000;
    },
    /** Lets one thing happen after the other, until `isOver` says so after one (true) or there is none before `until` (false). */
    run(until: number, isOver: () => boolean): Promise<boolean> {
      return new Promise((resolve, reject) => {
        let hasEnded = false;
        let isUnderWay = false;
        const end = (outcome: boolean) => {
          hasEnded = true;
          resolve(outcome);
        };
        const step = () => {
          if (hasEnded || outside > 0) return;
          try {
            if (isUnderWay && isOver()) return end(true);
            isUnderWay = next(until);
            if (!isUnderWay) end(false);
          } catch (error) {
            hasEnded = true;
            reject(error);
          }
        };
        // Node does all that follows from one before the next; a turn of its loop for each takes longer than most of them.
        const turn = () => {
          for (let left = hasEnded ? 0 : stepsInTurn; left > 0; left -= 1) real.setImmediate(step);
          if (!hasEnded) real.setImmediate(turn);
        };
        turn();
      });
    },
  };
  return world;
}

/** The clock and the timers of this thread are those of a world from now on. */
export function enter(world: World): void {
  if (!current) replaceGlobals();
  current = world;
}

function createRandom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

class Timer {
  #event: Event;
  readonly #start: () => Event;

  constructor(start: () => Event) {
    this.#start = start;
    this.#event = start();
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  refresh(): this {
    this.close();
    this.#event = this.#start();
    return this;
  }
  close(): void {
    this.#event.isCancelled = true;
  }
  /** Of an interval. */
  repeat(): void {
    if (!this.#event.isCancelled) this.#event = this.#start();
  }
}

type Callback = (...given: unknown[]) => void;

function replaceGlobals(): void {
  const world = () => current as World;
  const nowHere = () => Math.floor(world().now() + (inProcess.getStore()?.skewMs ?? 0));
  const once = (run: Callback, ms = 0, ...given: unknown[]) => {
    const process = inProcess.getStore();
    return new Timer(() => world().after(ms, () => run(...given), process));
  };
  const every = (run: Callback, ms = 0, ...given: unknown[]) => {
    const process = inProcess.getStore();
    const tick = () => {
      run(...given);
      timer.repeat();
    };
    const timer: Timer = new Timer(() => world().after(Math.max(1, ms), tick, process));
    return timer;
  };
  const stop = (timer: unknown) => timer instanceof Timer && timer.close();
  Object.assign(globalThis, {
    setTimeout: once,
    setInterval: every,
    setImmediate: (run: Callback, ...given: unknown[]) => once(run, 0, ...given),
    clearTimeout: stop,
    clearInterval: stop,
    clearImmediate: stop,
    Date: class extends real.Date {
      constructor(...given: []) {
        super(...((given.length === 0 ? [nowHere()] : given) as []));
      }
      static override now(): number {
        return nowHere();
      }
    },
  });
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    once(() => controller.abort(new DOMException('the time is over', 'TimeoutError')), ms);
    return controller.signal;
  };
  performance.now = () => world().elapsedMs();
  Math.random = () => world().random();
  const sleep = (ms = 0, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = once(() => resolve(value), ms);
      signal?.addEventListener('abort', () => {
        timer.close();
        reject(new DOMException('aborted', 'AbortError'));
      });
    });
  Object.assign(timersPromises, {
    setTimeout: sleep,
    setImmediate: (value?: unknown, options?: { signal?: AbortSignal }) => sleep(0, value, options),
  });
  syncBuiltinESMExports();
}
