/** How streamed events reach the state: each at once, or together once per animation frame. */
export type StreamingMode = 'batched' | 'immediate';

export interface EventBuffer<Event> {
  add(event: Event): void;
  /** Hands over what waits, now. */
  flush(): void;
}

/** A hidden page gets no animation frames; its events wait this long at most. */
const hiddenMs = 100;

export function createEventBuffer<Event>(
  mode: StreamingMode,
  deliver: (events: readonly Event[]) => void,
): EventBuffer<Event> {
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
    add(event) {
      if (mode === 'immediate') return deliver([event]);
      waiting.push(event);
      cancel ??= schedule(flush);
    },
    flush,
  };
}

function schedule(work: () => void): () => void {
  const timer = setTimeout(work, hiddenMs);
  // Missing outside of pages.
  const { requestAnimationFrame, cancelAnimationFrame } = globalThis as Partial<Page>;
  const frame = requestAnimationFrame?.(work);
  return () => {
    clearTimeout(timer);
    if (frame !== undefined) cancelAnimationFrame?.(frame);
  };
}

interface Page {
  requestAnimationFrame(work: () => void): number;
  cancelAnimationFrame(frame: number): void;
}
