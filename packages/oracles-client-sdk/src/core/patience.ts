import { OracleError } from './oracle-error.ts';

/** Longest time without any progress before trying again is given up, where nothing else is asked for. */
const defaultPatienceMs = 2 * 60_000;
const firstPauseMs = 200;
const longestPauseMs = 5_000;

/** Growing pauses between attempts at the same thing. */
export interface Patience {
  /** Waits before the next attempt; throws `fault` when another would be no use. */
  wait(fault: unknown): Promise<void>;
  /** There was progress: pauses are short again. */
  renew(): void;
}

export function createPatience(signal: AbortSignal, patienceMs = defaultPatienceMs): Patience {
  let attempts = 0;
  let progressAt = Date.now();
  return {
    async wait(fault) {
      signal.throwIfAborted();
      if (!isPassing(fault) || Date.now() - progressAt > patienceMs) throw fault;
      await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** attempts), signal);
      attempts += 1;
    },
    renew() {
      attempts = 0;
      progressAt = Date.now();
    },
  };
}

/** Repeats `work` until it succeeds or the fault is one that stays. */
export async function persist<T>(work: () => Promise<T>, signal: AbortSignal, patienceMs?: number): Promise<T> {
  const patience = createPatience(signal, patienceMs);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      await patience.wait(error);
    }
  }
}

/** Whether trying again may help: no connection, a broken stream, an overloaded or restarting service. */
function isPassing(error: unknown): boolean {
  return !(error instanceof OracleError) || error.status === 0 || error.status === 429 || error.status >= 500;
}

/** A little shorter or longer each time, so that clients do not come back all at once; a network that returns ends it. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Missing outside of pages.
  const page = globalThis as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms * (0.75 + Math.random() / 2));
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
