const pollMs = 1_000;

/** Runs of this instance that wait for their place in a session. */
export function createSessionWaiters() {
  const waiting = new Map<string, Set<() => void>>();

  return {
    /**
     * A run of this session ended, here or elsewhere. All of its runs ask for their place: only the database knows which is
     * the next.
     */
    wake(sessionId: string): void {
      for (const wake of waiting.get(sessionId) ?? []) wake();
    },

    /**
     * Resolves with what `tryStart` gives once it gives something; asks after every wake-up and once a second in case one
     * was lost. Rejects with the reason of `signal`.
     */
    async wait<T>(sessionId: string, signal: AbortSignal, tryStart: () => Promise<T | undefined>): Promise<T> {
      let woken = Promise.withResolvers<void>();
      const wake = () => woken.resolve();
      const waiters = waiting.get(sessionId) ?? new Set();
      waiting.set(sessionId, waiters.add(wake));
      signal.addEventListener('abort', wake);
      try {
        for (;;) {
          signal.throwIfAborted();
          woken = Promise.withResolvers<void>();
          // The database may be away for a moment; the place in the queue is kept there.
          const started = await tryStart().catch(() => undefined);
          if (started !== undefined) return started;
          const timer = setTimeout(wake, pollMs);
          await woken.promise;
          clearTimeout(timer);
        }
      } finally {
        signal.removeEventListener('abort', wake);
        waiters.delete(wake);
        if (waiters.size === 0 && waiting.get(sessionId) === waiters) waiting.delete(sessionId);
      }
    },
  };
}
