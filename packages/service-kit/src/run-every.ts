export interface Regular {
  /** Between the end of a round and the next one, a tenth more or less, so that instances do not work in step; 0 leaves it to others. */
  everyMs: number;
  /** Until the first round. Default `everyMs`. */
  firstMs?: number;
  /** One round. It may say when the next one is due. */
  work(setNext: (ms: number) => void): Promise<unknown>;
  /** Gets the first fault of rounds that fail one after the other. */
  onFault(error: unknown): void;
}

/** Work that is done again and again, one round at a time. `stop` waits for the round that runs. */
export function runEvery({ everyMs, firstMs = everyMs, work, onFault }: Regular): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isFailing = false;
  let isStopped = everyMs === 0;

  async function round(): Promise<void> {
    let nextMs = everyMs * (0.9 + Math.random() / 5);
    try {
      await work((ms) => {
        nextMs = ms;
      });
      isFailing = false;
    } catch (error) {
      if (!isFailing) onFault(error);
      isFailing = true;
    }
    schedule(nextMs);
  }
  function schedule(ms: number): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      running = round();
    }, ms).unref();
  }
  schedule(firstMs);
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
