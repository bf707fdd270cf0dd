const pollMs = 1_000;

interface Waiter {
  wake(): void;
}

/** Runs of this instance that wait for their place in a session. Only the first of a session asks the database. */
export function createSessionWaiters() {
  const waiting = new Map<string, Waiter[]>();

  function wakeFirst(sessionId: string): void {
    waiting.get(sessionId)?.[0]?.wake();
  }

  return {
    /** A run of this session ended, here or elsewhere. */
    wakeFirst,
    has: (sessionId: string) => waiting.has(sessionId),

    /**
     * Resolves with what `tryStart` gives once it gives something; asks after every wake-up and once a second in case one
     * was lost. Rejects with the reason of `signal`.
     */
    async wait<T>(sessionId: string, signal: AbortSignal, tryStart: () => Promise<T | undefined>): Promise<T> {
      let wake = () => {};
      const waiter = { wake: () => wake() };
      const queue = waiting.get(sessionId) ?? [];
      queue.push(waiter);
      waiting.set(sessionId, queue);
      try {
        for (;;) {
          signal.throwIfAborted();
          const woken = new Promise<void>((resolve) => {
            wake = resolve;
          });
          if (queue[0] === waiter) {
            // The database may be away for a moment; the place in the queue is kept there.
            const started = await tryStart().catch(() => undefined);
            if (started !== undefined) return started;
          }
          const timer = setTimeout(() => wake(), pollMs);
          const onAbort = () => wake();
          signal.addEventListener('abort', onAbort, { once: true });
          await woken;
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
        }
      } finally {
        queue.splice(queue.indexOf(waiter), 1);
        if (queue.length === 0) waiting.delete(sessionId);
        else wakeFirst(sessionId);
      }
    },
  };
}
