export interface Backoff {
  /** The next wait in milliseconds: twice the last one up to the maximum, less up to half of it by chance. */
  next(): number;
  reset(): void;
}

export function createBackoff(firstMs: number, maxMs: number): Backoff {
  let waitMs = firstMs;
  return {
    next() {
      const current = waitMs;
      waitMs = Math.min(maxMs, waitMs * 2);
      return current * (0.5 + Math.random() / 2);
    },
    reset: () => (waitMs = firstMs),
  };
}
