/** Runs work at an interval, one round at a time; 0 leaves it to others. `stop` waits for the round that runs. */
export function runEvery(
  everyMs: number,
  work: () => Promise<unknown>,
  onFault: (error: unknown) => void,
): { stop(): Promise<void> } {
  let running: Promise<unknown> | undefined;
  const round = () => {
    running ??= work()
      .catch(onFault)
      .finally(() => {
        running = undefined;
      });
  };
  const timer = everyMs === 0 ? undefined : setInterval(round, everyMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
