import type { ChatParts } from './chat-interface.ts';
import { answerKey, humanKey } from './chat-state.ts';
import { createEventBuffer } from './event-buffer.ts';
import { readEventStream, type ServerSentEvent } from './event-stream.ts';
import { asRecord, OracleError, toClaimIds, toError, toStreamError } from './oracle-error.ts';
import { createRetryPolicy, withRetries } from './retry-policy.ts';
import type { Transport } from './transport.ts';
import type { StreamEvent } from './wire.ts';

/** How long a stop that did not reach the service is repeated. */
const stopForMs = 2 * 60_000;

export type TurnFollower = ReturnType<typeof createTurnFollower>;

export function createTurnFollower(parts: ChatParts) {
  const { options, api, get, dispatch, sync, syncQuietly } = parts;
  const { transport, sessionId } = options;
  const followed = new Set<string>();
  /** Their request ids: their events come by stream. */
  const streamed = new Set<string>();
  const runIds = new Map<string, string>();
  const stopped = new Set<string>();

  async function follow(
    localId: string,
    { runId, response }: { runId: string | undefined; response?: Response },
    signal: AbortSignal,
  ): Promise<void> {
    if (runId) {
      followed.add(runId);
      runIds.set(localId, runId);
    }
    const buffering = { mode: options.streamingMode ?? 'immediate', throttleMs: options.streamingThrottleMs };
    const buffer = createEventBuffer<StreamEvent>(buffering, (events) => {
      if (!signal.aborted) dispatch({ type: 'streamed', localId, events });
    });
    const onEvent = (event: StreamEvent) => {
      if (event.eventName === 'run') {
        followed.add(event.payload.runId);
        streamed.add(event.payload.requestId);
        runIds.set(localId, event.payload.runId);
      }
      buffer.add(event);
      parts.take(event);
      if (event.eventName === 'error') askForPayment(toStreamError(event.payload));
      options.onEvent?.(event);
    };
    try {
      await followRun({ transport, runId, response, signal, onEvent });
    } finally {
      buffer.flush();
    }
    if (!signal.aborted) finish(localId);
  }

  function finish(localId: string): void {
    const { sendError, messages } = get();
    const answer = messages.find(({ key }) => key === answerKey(localId));
    if (answer?.status !== 'failed') {
      if (answer) options.onFinish?.(answer);
    } else if (sendError) options.onError?.(sendError);
  }

  /** Failures of a turn end in the state, not at the caller; a closed page ignores them. */
  async function report(localId: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (signal.aborted) return;
      if (await isStoredAnyway(error, localId, signal)) return takeFromHistory(localId);
      if (signal.aborted) return;
      const isReplacing = get().messages.some((message) => message.key === humanKey(localId) && message.replaces);
      dispatch({ type: 'failed', localId, error: toError(error) });
      if (!stopped.has(localId)) options.onError?.(toError(error));
      askForPayment(error);
      // What it was to replace is still there.
      if (isReplacing) syncQuietly();
    } finally {
      // What was written meanwhile is in the history.
      if (stopped.delete(localId) && !signal.aborted) await sync().catch(() => {});
    }
  }

  /** Nothing leaves the page, and the turn is not over, until the history shows its end or that it is still running. */
  async function takeFromHistory(localId: string): Promise<void> {
    dispatch({ type: 'broken', localId });
    await sync().catch(() => {});
    dispatch({ type: 'settled', localId });
  }

  function askForPayment(error: unknown): void {
    const claimIds = toClaimIds(error);
    if (claimIds) options.onPaymentRequired?.(claimIds);
  }

  async function isStoredAnyway(error: unknown, localId: string, signal: AbortSignal): Promise<boolean> {
    if (!(error instanceof OracleError)) return false;
    if (error.code === 'RUN_NOT_FOUND') return true;
    return error.code === 'NETWORK_ERROR' && (await hasArrived(localId, signal).catch(() => false));
  }

  /** The connection broke before the reply. The history shows whether the message arrived: it is never sent twice. */
  async function hasArrived(requestId: string, signal: AbortSignal): Promise<boolean> {
    const { messages } = await api.listMessages(sessionId, {}, signal);
    return messages.some((message) => message.requestId === requestId);
  }

  return {
    follow,
    report,
    hasArrived,
    isFollowed: (runId: string) => followed.has(runId),
    isStreamed: (requestId: string) => streamed.has(requestId),
    /** The chat is opened: runs that continue at the service are followed from their first frame. */
    reset: () => followed.clear(),

    resume(runId: string, signal: AbortSignal): void {
      dispatch({ type: 'resumed', runId });
      // Another turn may be waiting behind it.
      void report(runId, signal, () => follow(runId, { runId }, signal)).then(syncQuietly);
    },

    stopHere(localId: string): void {
      stopped.add(localId);
      dispatch({ type: 'stopped', localId });
    },

    /** Stops a turn at the service, without an id whatever runs there. */
    async stopThere(localId: string | undefined): Promise<void> {
      const runId = localId && (runIds.get(localId) ?? localId);
      const isKnown = runId !== undefined && followed.has(runId);
      const stop = () => api.abort(sessionId, isKnown ? runId : undefined);
      const signal = parts.signal();
      // By its id a run is stopped later just as well; without one, a later run could be meant.
      await stop().catch(() => void (isKnown && withRetries(stop, signal, stopForMs).catch(() => {})));
    },
  };
}

export interface FollowOptions {
  transport: Pick<Transport, 'request'>;
  /** Known from the start, or from the first frame of `response`. */
  runId: string | undefined;
  /** The open stream of a send; without it the run is read from its first frame. */
  response?: Response | undefined;
  signal: AbortSignal;
  onEvent(event: StreamEvent): void;
}

/** Hands over every event of a run once and in order, over as many connections as it takes. Rejects when the service refuses. */
export async function followRun({ transport, signal, onEvent, ...start }: FollowOptions): Promise<void> {
  let { runId, response } = start;
  let last = 0;
  const retries = createRetryPolicy(signal);
  for (;;) {
    let fault: unknown = new OracleError('The stream ended too early.', { code: 'NETWORK_ERROR' });
    try {
      response ??= await transport.request(`/runs/${encodeURIComponent(runId ?? '')}?after=${last}`, { signal });
      for await (const frame of readEventStream(response, signal)) {
        const number = /^\d+$/.test(frame.id) ? Number(frame.id) : undefined;
        if (number !== undefined) {
          if (number <= last) continue;
          // A frame was lost on the way: what follows is asked for again, from where we are.
          if (number > last + 1) break;
          last = number;
          retries.reset();
        }
        const event = toStreamEvent(frame);
        if (!event) continue;
        if (event.eventName === 'run') runId = event.payload.runId;
        onEvent(event);
        if (event.eventName === 'done') return;
      }
    } catch (error) {
      fault = error;
    }
    if (runId === undefined) throw fault;
    response = undefined;
    await retries.wait(fault);
  }
}

/** A frame that cannot be read would be no better the next time: it is passed over. */
function toStreamEvent({ event, data }: ServerSentEvent): StreamEvent | undefined {
  try {
    const payload = asRecord(JSON.parse(data));
    return payload && ({ eventName: event, payload } as unknown as StreamEvent);
  } catch {
    return undefined;
  }
}
