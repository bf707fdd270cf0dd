import { startThread as startAnyThread, type Thread } from '../thread.ts';
import type { FormCall, FormSource, WorkerCall, WorkerReply } from './protocol.ts';

/**
 * The threads that answer callers. A form is in one of them at a time, so one that takes long or does not end holds up nobody
 * who is in another form.
 */
export interface FormThreads {
  /** Rejects when it has waited or computed for too long; other calls continue. */
  send(call: FormJob): Promise<WorkerReply>;
  stop(): Promise<void>;
}

export interface FormJob {
  /** The same for the same form. */
  key: string;
  source: FormSource;
  call: { kind: 'press'; call: FormCall } | { kind: 'load' };
  /** How long it may compute where the thread has the form, and how much longer where it has not. */
  limitMs: number;
  loadMs: number;
  /** How long it may wait for a thread. */
  waitMs: number;
}

interface Waiting extends FormJob {
  since: number;
  timer?: NodeJS.Timeout;
  resolve(reply: WorkerReply): void;
  reject(error: Error): void;
}

interface FormThread {
  thread: Thread<WorkerCall, WorkerReply>;
  /** The forms that it was sent. */
  forms: Set<string>;
  /** What it works on now. */
  job?: Waiting | undefined;
}

const workerFile = new URL(import.meta.url.replace(/form-threads(\.[jt]s)(\?.*)?$/, 'form-worker$1'));
const threadOptions = { what: 'a form', maxMemoryMb: 1_024, maxWaiting: 1 };
const maxWaiting = 1_000;
/** Loading a form leaves some memory behind in the engine: after this many the thread is replaced. */
const maxLoads = 150;
/** How long a call waits for a thread that has its form before another one loads it. */
const patienceMs = 300;

export const startFormThread = () => startAnyThread<WorkerCall, WorkerReply>(workerFile, threadOptions);

export function createFormThreads(
  maxThreads: number,
  startThread: typeof startFormThread,
  onLoad?: (by: 'ahead' | 'call') => void,
): FormThreads {
  const threads = new Set<FormThread>();
  const queue: Waiting[] = [];
  /** Forms that have ended their thread, until they answer: all of them together have one. */
  const guilty = new Set<string>();
  let patience: NodeJS.Timeout | undefined;

  const start = () => {
    const own: FormThread = { thread: startThread(), forms: new Set() };
    threads.add(own);
    return own;
  };
  const laneOf = ({ key, call }: FormJob) => (call.kind === 'load' ? 'load' : guilty.has(key) ? 'guilty' : key);
  /** The thread that may take a job now. */
  const findThread = (job: Waiting): FormThread | undefined => {
    for (const own of threads) if (!own.job && !own.thread.isUsable()) threads.delete(own);
    const all = [...threads];
    const busy = all.filter((own) => own.job);
    if (busy.some((own) => own.job && (own.job.key === job.key || laneOf(own.job) === laneOf(job)))) return undefined;
    const free = all.filter((own) => !own.job);
    // Loading ahead leaves a thread to callers.
    if (job.call.kind === 'load' && maxThreads > 1 && busy.length >= maxThreads - 1) return undefined;
    const known = free.find(({ forms }) => forms.has(job.key));
    if (known) return known;
    if (busy.some(({ forms }) => forms.has(job.key)) && Date.now() - job.since < patienceMs) {
      patience ??= setTimeout(() => {
        patience = undefined;
        dispatch();
      }, patienceMs).unref();
      return undefined;
    }
    return free[0] ?? (threads.size < maxThreads ? start() : undefined);
  };
  const dispatch = () => {
    for (const job of [...queue]) {
      const own = findThread(job);
      if (!own) continue;
      queue.splice(queue.indexOf(job), 1);
      clearTimeout(job.timer);
      run(own, job);
    }
  };
  const run = async (own: FormThread, job: Waiting): Promise<void> => {
    const { key, source, call, limitMs, loadMs } = job;
    const isKnown = own.forms.has(key);
    own.job = job;
    own.forms.add(key);
    try {
      const wanted = { ...call, form: key, ...(!isKnown && { source }) } as WorkerCall;
      const reply = await own.thread.send(wanted, isKnown ? limitMs : limitMs + loadMs);
      own.job = undefined;
      if ('missing' in reply) {
        // The thread has unloaded it to make room for others.
        own.forms.delete(key);
        queue.unshift(job);
      } else {
        guilty.delete(key);
        if (!isKnown) onLoad?.(call.kind === 'load' ? 'ahead' : 'call');
        job.resolve(reply);
        if ('loads' in reply && reply.loads >= maxLoads) replace(own);
      }
    } catch (error) {
      threads.delete(own);
      guilty.add(key);
      job.reject(error as Error);
    }
    dispatch();
  };
  const isLoading = (key: string) => [...threads].some(({ job }) => job?.key === key && job.call.kind === 'load');
  /** Ends a thread that nothing runs in. */
  const replace = (own: FormThread) => {
    threads.delete(own);
    own.thread.retire();
  };

  return {
    send(job) {
      if (queue.length >= maxWaiting)
        return Promise.reject(new Error('a form cannot be accepted: too many are waiting'));
      return new Promise((resolve, reject) => {
        const waiting: Waiting = { ...job, since: Date.now(), resolve, reject };
        const giveUp = () => {
          // Another thread would take as long to load it.
          if (isLoading(job.key)) return setGivingUp();
          queue.splice(queue.indexOf(waiting), 1);
          reject(new Error('a form was not answered: its thread was busy for too long'));
        };
        const setGivingUp = () => {
          waiting.timer = setTimeout(giveUp, job.waitMs);
        };
        setGivingUp();
        queue.push(waiting);
        dispatch();
      });
    },
    async stop() {
      clearTimeout(patience);
      for (const { timer, reject } of queue.splice(0)) {
        clearTimeout(timer);
        reject(new Error('the service is closing'));
      }
      await Promise.all([...threads].map(({ thread }) => thread.stop()));
    },
  };
}
