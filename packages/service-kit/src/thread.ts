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
    const stopFor = (reason: string) => () => {
      end(`${what} ${reason}`);
      worker.terminate();
    };
    const limits = [
      limitComputing(worker, current.limitMs, stopFor('took too long')),
      limitMemory(worker, maxMemoryMb, stopFor('failed its thread: it needs too much memory')),
    ];
    endLimit = () => {
      for (const endOne of limits) endOne();
    };
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

/** Calls this short are not measured: all of this time counts. */
const unmeasuredMs = 250;
const shortestLookMs = 100;
/** How much longer a call may take by the clock, on a busy machine. */
const clockFactor = 10;

// Calls `onOver` after `limitMs` of computing, or ten times that by the clock. Before Node 24.6 a thread cannot be measured from
// outside: only the clock counts. Returns the function that ends the watch.
function limitComputing(worker: Worker, limitMs: number, onOver: () => void): () => void {
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

// Calls `onOver` when a thread uses more memory: at V8's own limit the whole process may end. Before Node 22.16 a thread cannot
// be measured from outside. Returns the function that ends the watch.
function limitMemory(worker: Worker, maxMemoryMb: number, onOver: () => void): () => void {
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
