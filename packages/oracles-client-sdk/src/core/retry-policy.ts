import { OracleError } from './oracle-error.ts';

const defaultLimitMs = 2 * 60_000;
const firstPauseMs = 200;
const longestPauseMs = 5_000;

export function createRetryPolicy(signal: AbortSignal, limitMs = defaultLimitMs) {
  let attempts = 0;
  let progressAt = Date.now();
  return {
    async wait(fault: unknown): Promise<void> {
      signal.throwIfAborted();
      // No connection, a broken stream, an overloaded or restarting service; not a wallet that declined.
      const isTransient = !(fault instanceof OracleError) || fault.retryable;
      if (!isTransient || Date.now() - progressAt > limitMs) throw fault;
      const asked = fault instanceof OracleError ? (fault.retryAfterMs ?? 0) : 0;
      if (asked > limitMs) throw fault;
      await pause(Math.max(asked, Math.min(longestPauseMs, firstPauseMs * 2 ** attempts)), signal);
      attempts += 1;
    },
    reset(): void {
      attempts = 0;
      progressAt = Date.now();
    },
  };
}

export async function withRetries<T>(work: () => Promise<T>, signal: AbortSignal, limitMs?: number): Promise<T> {
  const policy = createRetryPolicy(signal, limitMs);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      await policy.wait(error);
    }
  }
}

/** With jitter, so that clients do not all return at the same moment. Ends early when the network is back. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Missing outside of pages.
  const page = globalThis as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms * (1 + Math.random() / 4));
    function done() {
      clearTimeout(timer);
      page.removeEventListener?.('online', done);
      signal.removeEventListener('abort', done);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    }
    page.addEventListener?.('online', done);
    signal.addEventListener('abort', done);
  });
}
