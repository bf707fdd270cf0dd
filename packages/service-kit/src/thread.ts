import { Worker } from 'node:worker_threads';

type WithoutId<Call> = Call extends unknown ? Omit<Call, 'id'> : never;

/** Answers one call at a time, so that a call that does not end is known. */
export interface Thread<Call, Reply> {
  /** Rejects when the call computes for longer than `limitMs`; the thread ends then. */
  send(call: WithoutId<Call>, limitMs: number): Promise<Reply>;
  isUsable(): boolean;
  /** Ends once it has answered what it was sent. */
  retire(): void;
  stop(): Promise<void>;
}

interface ThreadOptions {
  /** What it works on, for messages: `a form`. */
  what: string;
  maxMemoryMb: number;
  maxWaiting: number;
  onEnd?(): void;
}

interface Waiting<Call, Reply> {
  call: Call;
  limitMs: number;
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** V8's own limit may end the process, so it is further away than ours. */
const hardFactor = 1.5;

export function startThread<Call extends { id: number }, Reply extends { id: number }>(
  file: URL,
  { what, maxMemoryMb, maxWaiting, onEnd }: ThreadOptions,
): Thread<Call, Reply> {
  // Nobody reads what libraries print there: it is no log line.
  const worker = new Worker(file, {
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb * hardFactor },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  // It must not keep the process alive, nor end it.
  worker.unref();
  const queue: Waiting<Call, Reply>[] = [];
  let current: Waiting<Call, Reply> | undefined;
  let endLimit = () => {};
  let state: 'running' | 'retired' | 'ended' = 'running';
  let count = 0;

  const end = (reason: string) => {
    if (state === 'ended') return;
    state = 'ended';
    endLimit();
    onEnd?.();
    for (const waiting of [...(current ? [current] : []), ...queue]) waiting.reject(new Error(reason));
    queue.length = 0;
    current = undefined;
  };
  const next = () => {
    endLimit();
    current = queue.shift();
    if (!current) {
      if (state === 'retired') thread.stop();
      return;
    }
    endLimit = limitCall(worker, { limitMs: current.limitMs, maxMemoryMb }, (reason) => {
      end(`${what} ${reason}`);
      worker.terminate();
    });
    worker.postMessage(current.call);
  };
  worker.on('message', (reply: Reply) => {
    if (reply.id !== current?.call.id) return;
    current.resolve(reply);
    next();
  });
  worker.on('error', (error) => end(`${what} failed its thread: ${error.message}`));
  worker.on('exit', () => end(`the thread of ${what} ended`));

  const thread: Thread<Call, Reply> = {
    send(call, limitMs) {
      if (state === 'ended' || queue.length >= maxWaiting)
        return Promise.reject(new Error(`${what} cannot be accepted now: too many are waiting`));
      return new Promise((resolve, reject) => {
        queue.push({ call: { ...call, id: ++count } as unknown as Call, limitMs, resolve, reject });
        if (!current) next();
      });
    },
    isUsable: () => state === 'running',
    retire() {
      state = 'retired';
      if (!current) thread.stop();
    },
    async stop() {
      end('the service is closing');
      await worker.terminate();
    },
  };
  return thread;
}

const lookMs = 100;
/** How much longer a call may take by the clock, on a busy machine. */
const clockFactor = 10;

// Stops a call that computes for too long, or ten times that by the clock, or needs more memory: at V8's own limit the whole
// process may end. Before Node 24.6 the computing of a thread cannot be measured from outside, and before 22.16 its memory: there
// only the clock counts. Returns the function that ends the watch.
function limitCall(
  worker: Worker,
  { limitMs, maxMemoryMb }: { limitMs: number; maxMemoryMb: number },
  stop: (reason: string) => void,
): () => void {
  const isMeasured = 'cpuUsage' in worker && limitMs > lookMs;
  const tooLong = () => stop('took too long');
  const clock = setTimeout(tooLong, isMeasured ? limitMs * clockFactor : limitMs);
  let first: NodeJS.CpuUsage | undefined;
  let isLooking = false;
  let isEnded = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    const memory = 'getHeapStatistics' in worker ? (await worker.getHeapStatistics()).used_heap_size : 0;
    const cpu = isMeasured ? await worker.cpuUsage(first) : undefined;
    isLooking = false;
    if (isEnded) return;
    if (memory > maxMemoryMb * 1024 * 1024) stop('failed its thread: it needs too much memory');
    // All of the time before the first look counts.
    else if (cpu && first && lookMs + (cpu.user + cpu.system) / 1_000 >= limitMs) tooLong();
    first ??= cpu;
  };
  // A thread that has ended cannot be measured.
  const timer = setInterval(() => look().catch(() => {}), lookMs);
  return () => {
    isEnded = true;
    clearTimeout(clock);
    clearInterval(timer);
  };
}
