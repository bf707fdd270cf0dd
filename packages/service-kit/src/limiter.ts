export interface LimiterOptions {
  concurrency: number;
  maxWaiting: number;
  /** Longest wait; none where it is not given. */
  maxWaitMs?: number;
  toError(): Error;
}

/** Runs at most `concurrency` tasks at a time, in order; refuses when `maxWaiting` are waiting already, or after too long a wait. */
export function createLimiter({ concurrency, maxWaiting, maxWaitMs, toError }: LimiterOptions) {
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
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running < concurrency) running += 1;
    else if (waiting.size >= maxWaiting) throw toError();
    else await wait();
    try {
      return await task();
    } finally {
      const [next] = waiting;
      if (next) next();
      else running -= 1;
    }
  };
}
