import { readEventStream, type ServerSentEvent } from './event-stream.ts';
import { asRecord, OracleError } from './oracle-error.ts';
import { createRetryPolicy } from './retry-policy.ts';
import type { Transport } from './transport.ts';
import type { StreamEvent } from './wire.ts';

export interface FollowOptions {
  transport: Pick<Transport, 'request'>;
  /** Known from the start, or from the first frame of `response`. */
  runId: string | undefined;
  /** The open stream of a send; without it the run is read from its first frame. */
  response?: Response | undefined;
  signal: AbortSignal;
  onEvent(event: StreamEvent): void;
}

/**
 * Hands over every event of a run exactly once and in order, through as many connections as it takes. Resolves after
 * `done`; rejects when the service refuses or cannot be reached for long.
 */
export async function followRun({ transport, signal, onEvent, ...start }: FollowOptions): Promise<void> {
  let { runId, response } = start;
  let last = 0;
  const retries = createRetryPolicy(signal);
  for (;;) {
    let fault: unknown = new OracleError('The stream ended too early.', { code: 'NETWORK_ERROR' });
    try {
      response ??= await transport.request(`/runs/${encodeURIComponent(runId ?? '')}?after=${last}`, { signal });
      for await (const frame of readEventStream(response, signal)) {
        const number = toNumber(frame.id);
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

/** A frame without a number is taken as it comes. */
function toNumber(id: string): number | undefined {
  return /^\d+$/.test(id) ? Number(id) : undefined;
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
