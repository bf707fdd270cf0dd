// Loaded before a program of a benchmark: says what it uses when it is asked, and ends with the one that asks.
export interface Usage {
  /** CPU time since the start. */
  cpuMicros: number;
  rss: number;
  /** Bytes that are really held, after a collection; only where that was asked for, since it costs CPU. */
  held: number;
}

process.on('message', (what) => {
  if (what !== 'usage' && what !== 'held') return;
  const { user, system } = process.cpuUsage();
  const rss = process.memoryUsage.rss();
  if (what === 'held') globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ cpuMicros: user + system, rss, held: heapUsed + external } satisfies Usage);
});
process.on('disconnect', () => process.exit(0));
