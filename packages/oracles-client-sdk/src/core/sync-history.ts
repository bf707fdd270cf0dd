import type { AgentApi, LiveRun } from './agent-api.ts';
import type { ChatAction } from './chat-state.ts';
import { toError } from './oracle-error.ts';
import { withRetries } from './retry-policy.ts';

export interface SyncParts {
  api: AgentApi;
  sessionId: string;
  pageSize(): number | undefined;
  dispatch(action: ChatAction): void;
  /** Ends when the chat is closed. */
  signal(): AbortSignal;
  onLoaded(): void;
  /** Called with the turn that is under way. */
  onLiveRun(run: LiveRun, signal: AbortSignal): void;
}

/** The history, and the turn that is under way. Calls meanwhile make it one more round. */
export function createHistorySync({ api, sessionId, dispatch, ...parts }: SyncParts) {
  let syncing: Promise<void> | undefined;
  let isStale = false;
  /** The life of the chat in which `syncQuietly` is under way. */
  let retrying: AbortSignal | undefined;

  async function load(signal: AbortSignal): Promise<void> {
    try {
      const limit = parts.pageSize();
      const page = await api.listMessages(sessionId, limit ? { limit } : {}, signal);
      dispatch({ type: 'loaded', page, older: false });
    } catch (error) {
      if (!signal.aborted) dispatch({ type: 'loadFailed', error: toError(error) });
      throw error;
    }
  }

  async function syncWhileStale(signal: AbortSignal): Promise<void> {
    try {
      while (isStale && !signal.aborted) {
        isStale = false;
        await load(signal);
        parts.onLoaded();
        const run = await api.findLiveRun(sessionId, signal);
        if (run) parts.onLiveRun(run, signal);
      }
    } finally {
      if (signal === parts.signal()) syncing = undefined;
    }
  }

  function sync(): Promise<void> {
    isStale = true;
    syncing ??= syncWhileStale(parts.signal());
    return syncing;
  }

  return {
    sync,
    /** Asks again while the agent is unreachable; what it answers at last is in the state. */
    syncQuietly() {
      const signal = parts.signal();
      if (signal.aborted) return;
      if (retrying === signal) return void sync().catch(() => {});
      retrying = signal;
      withRetries(sync, signal, Number.POSITIVE_INFINITY)
        .catch(() => {})
        .finally(() => {
          if (retrying === signal) retrying = undefined;
        });
    },
    /** The chat is opened again: what was asked for before it was closed does not count. */
    reset() {
      syncing = undefined;
    },
  };
}
