/** Runs of this instance that wait: for their place in a session, or for an answer of their user. */
export function createWaiters({ pollMs }: { pollMs: number }) {
  const waiting = new Map<string, Set<() => void>>();

  return {
    /** All that wait under this name ask again: only the database knows who may continue. False if nobody does. */
    wake(name: string): boolean {
      for (const wake of waiting.get(name) ?? []) wake();
      return waiting.has(name);
    },

    /**
     * Resolves with what `tryStart` gives once it gives something; asks after every wake-up, and every `pollMs`
     * in case one was lost. Rejects with the reason of `signal`.
     */
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
