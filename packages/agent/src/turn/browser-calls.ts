import { agentLimits } from '@palaver/contract';
import { isJsonTooDeep } from '@palaver/service-kit/internal';
import type { BrowserCall, SessionClients } from '../cluster/session-clients.ts';
import { ToolError } from '../define/runtime-context.ts';

export interface BrowserResult {
  sessionId: string;
  userDid: string;
  toolCallId: string;
  result?: unknown;
  error?: string | undefined;
}

export type BrowserCalls = ReturnType<typeof createBrowserCalls>;

interface Pending {
  sessionId: string;
  userDid: string;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface BrowserCallParts {
  timeoutMs: number;
  clients: Pick<SessionClients, 'deliver'>;
}

/** Round trips to pages: each request is sent once, to one socket, and waits for the one answer that is its own. */
export function createBrowserCalls({ timeoutMs, clients }: BrowserCallParts) {
  const pending = new Map<string, Pending>();
  const deliveries = new WeakMap<AbortSignal, Map<string, Promise<boolean>>>();

  /** Sends a call to a page, once in its run however often it is asked for; false if no page is connected. */
  function deliver(call: BrowserCall): Promise<boolean> {
    const ofRun = deliveries.get(call.signal) ?? new Map<string, Promise<boolean>>();
    deliveries.set(call.signal, ofRun);
    const sent = ofRun.get(call.toolCallId) ?? clients.deliver(call);
    ofRun.set(call.toolCallId, sent);
    return sent;
  }

  return {
    deliver,

    async call(call: BrowserCall): Promise<unknown> {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      pending.set(call.toolCallId, { sessionId: call.sessionId, userDid: call.userDid, resolve, reject });
      const onAbort = () => reject(call.signal.reason);
      const timer = setTimeout(
        () => reject(new ToolError('TOOL_TIMEOUT', `the page did not answer within ${timeoutMs / 1000} s`)),
        timeoutMs,
      );
      call.signal.addEventListener('abort', onAbort, { once: true });
      promise.catch(() => {}); // the delivery below may fail first
      try {
        if (!(await deliver(call))) throw new ToolError('BROWSER_NOT_CONNECTED', 'no page of the user is connected');
        return await promise;
      } finally {
        pending.delete(call.toolCallId);
        clearTimeout(timer);
        call.signal.removeEventListener('abort', onAbort);
      }
    },

    /** Takes a result in; false for one that nobody here waits for: late, repeated, foreign or of another instance's call. */
    settle({ sessionId, userDid, toolCallId, result, error }: BrowserResult): boolean {
      const waiting = pending.get(toolCallId);
      if (!waiting || waiting.sessionId !== sessionId || waiting.userDid !== userDid) return false;
      pending.delete(toolCallId);
      if (error) waiting.reject(new ToolError('TOOL_FAILED', error.slice(0, 2_000)));
      else if (isTooLarge(result)) {
        waiting.reject(
          new ToolError(
            'TOOL_RESULT_TOO_LARGE',
            `the result is larger than ${agentLimits.toolResultBytes / 1024} KiB or nested too deep`,
          ),
        );
      } else waiting.resolve(result ?? null);
      return true;
    },
  };
}

function isTooLarge(result: unknown): boolean {
  try {
    const json = JSON.stringify(result) ?? '';
    return Buffer.byteLength(json) > agentLimits.toolResultBytes || isJsonTooDeep(json);
  } catch {
    return true; // too deep to measure its size
  }
}
