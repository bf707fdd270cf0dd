export interface LimiterOptions {
  concurrency: number;
  maxWaiting: number;
  toError(): Error;
}

/** Runs at most `concurrency` tasks at a time, in order; refuses when `maxWaiting` are waiting already. */
export function createLimiter({ concurrency, maxWaiting, toError }: LimiterOptions) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running >= concurrency) {
      if (waiting.length >= maxWaiting) throw toError();
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
