import type { Worker } from 'node:worker_threads';

/** A call this short is not measured: all of this time counts. */
const unmeasuredMs = 250;
const shortestLookMs = 100;
/** How much longer a call may take on the clock, on a machine that is busy with other things. */
const clockFactor = 10;

/**
 * Calls `onOver` once a thread has computed for `limitMs`, or once ten times that has passed on the clock. Before Node 24.6 a
 * thread cannot be measured from outside: the clock alone counts. Returns what ends the watch.
 */
export function limitComputing(worker: Worker, limitMs: number, onOver: () => void): () => void {
  let isEnded = false;
  let timer: NodeJS.Timeout | undefined;
  let backstop: NodeJS.Timeout | undefined;
  const end = () => {
    isEnded = true;
    clearTimeout(timer);
    clearTimeout(backstop);
  };
  const wait = (ms: number, then: () => void) => {
    if (!isEnded) timer = setTimeout(then, ms);
  };
  if (!('cpuUsage' in worker) || limitMs <= unmeasuredMs) {
    wait(limitMs, onOver);
    return end;
  }
  const measure = async () => {
    backstop = setTimeout(onOver, limitMs * clockFactor);
    const before = await worker.cpuUsage();
    const look = async () => {
      const { user, system } = await worker.cpuUsage(before);
      const leftMs = limitMs - unmeasuredMs - (user + system) / 1_000;
      if (leftMs > 0) wait(Math.max(leftMs, shortestLookMs), ignoreEnd(look));
      else if (!isEnded) onOver();
    };
    wait(limitMs - unmeasuredMs, ignoreEnd(look));
  };
  wait(unmeasuredMs, ignoreEnd(measure));
  return end;
}

const memoryLookMs = 100;

/**
 * Calls `onOver` once a thread uses more memory than this. A thread that meets the limit of V8 itself may end the whole process, which
 * does not always leave it the time to stop. Returns what ends the watch. Before Node 22.16 a thread cannot be measured from outside.
 */
export function limitMemory(worker: Worker, maxMemoryMb: number, onOver: () => void): () => void {
  if (!('getHeapStatistics' in worker)) return () => {};
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    const { used_heap_size: used } = await worker.getHeapStatistics();
    isLooking = false;
    if (used > maxMemoryMb * 1024 * 1024) onOver();
  };
  const timer = setInterval(ignoreEnd(look), memoryLookMs);
  return () => clearInterval(timer);
}

/** A thread that has ended cannot be measured. */
function ignoreEnd(look: () => Promise<void>): () => void {
  return () => {
    look().catch(() => {});
  };
}
