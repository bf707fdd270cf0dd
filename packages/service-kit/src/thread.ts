import { Worker } from 'node:worker_threads';
import { createLimiter } from './work.ts';

type WithoutId<Call> = Call extends unknown ? Omit<Call, 'id'> : never;

export type Thread<Call extends Numbered, Reply extends Numbered> = ReturnType<typeof startThread<Call, Reply>>;

interface Numbered {
  id: number;
}

interface ThreadOptions {
  /** What it works on, for messages: `a form`. */
  what: string;
  maxMemoryMb: number;
  maxWaiting: number;
}

/** V8's own limit may end the process, so it is further away than ours. */
const hardFactor = 1.5;

/** Answers one call at a time, so that a call that does not end is known. */
export function startThread<Call extends Numbered, Reply extends Numbered>(
  file: URL,
  { what, maxMemoryMb, maxWaiting }: ThreadOptions,
) {
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
  const toError = () => new Error(`${what} cannot be accepted now: too many are waiting`);
  const inTurn = createLimiter({ concurrency: 1, maxWaiting, toError });
  let current: ({ id: number } & PromiseWithResolvers<Reply>) | undefined;
  let unanswered = 0;
  let count = 0;
  let isRetired = false;
  let fault: Error | undefined;

  const end = (reason: string) => {
    fault ??= new Error(reason);
    current?.reject(fault);
  };
  const stop = async () => {
    end('the service is closing');
    await worker.terminate();
  };
  worker.on('message', (reply: Reply) => {
    if (reply.id === current?.id) current.resolve(reply);
  });
  worker.on('error', (error) => end(`${what} failed its thread: ${error.message}`));
  worker.on('exit', () => end(`the thread of ${what} ended`));

  async function ask(call: WithoutId<Call>, limitMs: number): Promise<Reply> {
    if (fault) throw fault;
    const id = ++count;
    current = { id, ...Promise.withResolvers<Reply>() };
    worker.postMessage({ ...call, id });
    const endLimit = limitCall(worker, { limitMs, maxMemoryMb }, (reason) => {
      end(`${what} ${reason}`);
      worker.terminate();
    });
    return current.promise.finally(endLimit);
  }

  return {
    /** Rejects when the call computes for longer than `limitMs`; the thread ends then. */
    async send(call: WithoutId<Call>, limitMs: number): Promise<Reply> {
      if (fault) throw toError();
      unanswered += 1;
      try {
        return await inTurn(() => ask(call, limitMs));
      } finally {
        unanswered -= 1;
        if (isRetired && unanswered === 0) stop();
      }
    },
    isUsable: () => !isRetired && fault === undefined,
    /** Ends once it has answered what it was sent. */
    retire() {
      isRetired = true;
      if (unanswered === 0) stop();
    },
    stop,
  };
}

const lookMs = 100;
/** How much longer a call may take by the clock, on a busy machine. */
const clockFactor = 10;

// Stops a call that computes too long or needs too much memory: at V8's own limit the whole process may end. Before
// Node 24.6 the computing of a thread cannot be measured from outside, before 22.16 its memory: only the clock counts.
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
