/** How streamed events reach the state: each at once, together once per animation frame, or once in a fixed time. */
export type StreamingMode = 'batched' | 'immediate' | 'throttled';

/** A hidden page gets no animation frames; its events wait this long at most. */
const hiddenMs = 100;
const defaultThrottleMs = 50;

export function createEventBuffer<Event>(
  { mode, throttleMs = defaultThrottleMs }: { mode: StreamingMode; throttleMs?: number | undefined },
  deliver: (events: readonly Event[]) => void,
) {
  let waiting: Event[] = [];
  let cancel: (() => void) | undefined;

  function flush(): void {
    cancel?.();
    cancel = undefined;
    if (waiting.length === 0) return;
    const events = waiting;
    waiting = [];
    deliver(events);
  }

  return {
    add(event: Event) {
      if (mode === 'immediate') return deliver([event]);
      waiting.push(event);
      cancel ??= mode === 'throttled' ? delay(flush, throttleMs) : schedule(flush);
    },
    flush,
  };
}

function delay(work: () => void, ms: number): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}

function schedule(work: () => void): () => void {
  const stop = delay(work, hiddenMs);
  // Missing outside of pages.
  const { requestAnimationFrame, cancelAnimationFrame } = globalThis as {
    requestAnimationFrame?(work: () => void): number;
    cancelAnimationFrame?(frame: number): void;
  };
  const frame = requestAnimationFrame?.(work);
  return () => {
    stop();
    if (frame !== undefined) cancelAnimationFrame?.(frame);
  };
}
