export interface LimiterOptions {
  concurrency: number;
  maxWaiting: number;
  /** Longest wait; none where it is not given. */
  maxWaitMs?: number;
  /** The next task begins after a pause as long as the last one took, so that others have at least half of the time. */
  pauses?: boolean;
  toError(): Error;
}

const maxPauseMs = 500;

/** Runs at most `concurrency` tasks at a time, in order; refuses when `maxWaiting` are waiting already, or after too long a wait. */
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
      const timer =
        maxWaitMs === undefined
          ? undefined
          : setTimeout(() => {
              waiting.delete(begin);
              reject(toError());
            }, maxWaitMs);
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
