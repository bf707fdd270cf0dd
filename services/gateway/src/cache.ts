// Answers kept for the life of a block, bounded by bytes; equal requests at the same time share one upstream call.
import { LRUCache } from 'lru-cache';

/** An answer about a given height cannot change any more. */
export const pinnedTtlMs = 3_600_000;

export interface CacheOptions<T> {
  maxBytes: number;
  weigh(value: T): number;
  /** How long beyond its time an answer may still be used for a failing node. */
  staleMs: number;
  now?: () => number;
}

export interface Loading<T> {
  value: Promise<T>;
  cancel(): void;
}

export interface Shared<T> {
  value: Promise<T>;
  shared: boolean;
  /** To be called once by each caller that no longer wants the value; the last one to leave cancels the run. */
  leave(): void;
}

interface Run<T> {
  /** Undefined once it has ended: old copies of the map may keep the run for a while, but must not keep its value. */
  loading: Loading<T> | undefined;
  callers: number;
}

/** What an entry costs beside its body: the map's slot, headers, the key's own object. */
const overhead = 512;

export function createCache<T>({ maxBytes, weigh, staleMs, now = Date.now }: CacheOptions<T>) {
  const entries = new LRUCache<string, { value: T; freshUntil: number }>({
    maxSize: maxBytes,
    sizeCalculation: ({ value }, key) => weigh(value) + key.length + overhead,
  });
  const runs = new Map<string, Run<T>>();

  const look = (key: string, graceMs: number): T | undefined => {
    const entry = entries.get(key);
    if (!entry) return undefined;
    const time = now();
    if (time >= entry.freshUntil + staleMs) entries.delete(key);
    return time < entry.freshUntil + graceMs ? entry.value : undefined;
  };

  const join = (
    key: string,
    { run, value, shared }: { run: Run<T>; value: Promise<T>; shared: boolean },
  ): Shared<T> => {
    run.callers += 1;
    const leave = () => {
      run.callers -= 1;
      if (run.callers > 0 || runs.get(key) !== run) return;
      runs.delete(key);
      run.loading?.cancel();
    };
    return { value, shared, leave };
  };

  return {
    find: (key: string) => look(key, 0),
    findStale: (key: string) => look(key, staleMs),
    keep: (key: string, value: T, ttlMs: number) => void entries.set(key, { value, freshUntil: now() + ttlMs }),
    share(key: string, load: () => Loading<T>): Shared<T> {
      const running = runs.get(key);
      if (running?.loading) return join(key, { run: running, value: running.loading.value, shared: true });
      const loading = load();
      const run: Run<T> = { loading, callers: 0 };
      runs.set(key, run);
      const done = () => {
        if (runs.get(key) === run) runs.delete(key);
        run.loading = undefined;
      };
      loading.value.then(done, done);
      return join(key, { run, value: loading.value, shared: false });
    },
    clear: () => entries.clear(),
    bytes: () => entries.calculatedSize,
  };
}

export type Cache<T> = ReturnType<typeof createCache<T>>;
