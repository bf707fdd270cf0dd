import type { FormSource } from '@palaver/program/internal';
import { startThread as startAnyThread, type Thread } from '@palaver/service-kit/internal';
import { LRUCache } from 'lru-cache';
import type { FormCall, WorkerCall, WorkerReply } from './form-protocol.ts';

export interface FormJob {
  key: string;
  source: FormSource;
  call: { kind: 'press'; call: FormCall } | { kind: 'load' };
  limitMs: number;
  loadMs: number;
  waitMs: number;
}

interface Waiting extends FormJob {
  since: number;
  /** It computed for longer than its slice, so it runs after the others. */
  isCostly?: boolean;
  timer?: NodeJS.Timeout;
  resolve(reply: WorkerReply): void;
  reject(error: Error): void;
}

interface FormThread {
  thread: Thread<WorkerCall, WorkerReply>;
  forms: Set<string>;
  job?: Waiting | undefined;
  isLoading?: boolean;
}

const workerFile = new URL(import.meta.url.replace(/form-threads(\.[jt]s)(\?.*)?$/, 'form-worker$1'));
const threadOptions = { what: 'a form', maxMemoryMb: 1_024, maxWaiting: 1 };
const maxWaiting = 1_000;
/** Loading a form leaves some memory behind in the engine: after this many the thread is replaced. */
const maxLoads = 150;
/** How long a call waits for the thread of its form, which works on another one, before the form moves. */
const patienceMs = 300;
/** How long to keep a form that ended its thread apart from the others. */
const guilt = { max: 1_000, ttl: 600_000 };
/** How long a key press may compute before it comes after the other callers of its form; less where many wait. */
const slice = { mostMs: 250, leastMs: 50 };
/** A caller whose key press took this long comes after the others for a while. */
const slowMs = 500;
const slowness = { max: 10_000, ttl: 60_000 };

export const startFormThread = () => startAnyThread<WorkerCall, WorkerReply>(workerFile, threadOptions);

/** A form is in one thread at a time, so one that takes long or does not end holds up nobody who is in another form. */
export function createFormThreads(
  maxThreads: number,
  startThread: typeof startFormThread,
  onLoad?: (by: 'ahead' | 'call') => void,
) {
  const threads = new Set<FormThread>();
  const queue: Waiting[] = [];
  /** Forms that have ended their thread: all of them together have one. */
  const guilty = new LRUCache<string, true>(guilt);
  const isGuilty = (key: string) => guilty.has(key);
  const slowCallers = new LRUCache<string, true>(slowness);
  const isSlow = ({ call, isCostly }: Waiting) =>
    isCostly === true || (call.kind === 'press' && slowCallers.has(call.call.phoneNumber));
  let patience: NodeJS.Timeout | undefined;

  const start = () => {
    const own: FormThread = { thread: startThread(), forms: new Set() };
    threads.add(own);
    return own;
  };
  const laneOf = ({ key, call }: FormJob) => (call.kind === 'load' ? 'load' : isGuilty(key) ? 'guilty' : key);
  const findThread = (job: Waiting): FormThread | undefined => {
    for (const own of threads) if (!own.job && !own.thread.isUsable()) threads.delete(own);
    const all = [...threads];
    const busy = all.filter((own) => own.job);
    if (busy.some((own) => own.job && (own.job.key === job.key || laneOf(own.job) === laneOf(job)))) return undefined;
    const free = all.filter((own) => !own.job);
    // Loading ahead leaves a thread to callers.
    if (job.call.kind === 'load' && maxThreads > 1 && busy.length >= maxThreads - 1) return undefined;
    const known = all.find(({ forms }) => forms.has(job.key));
    if (known && !known.job) return known;
    if (known && Date.now() - job.since < patienceMs) {
      patience ??= setTimeout(() => {
        patience = undefined;
        dispatch();
      }, patienceMs).unref();
      return undefined;
    }
    const fits = ({ forms }: FormThread) => [...forms].every((key) => isGuilty(key) === isGuilty(job.key));
    const [emptiest] = free.sort((a, b) => Number(fits(b)) - Number(fits(a)) || a.forms.size - b.forms.size);
    const own = emptiest?.forms.size !== 0 && threads.size < maxThreads ? start() : emptiest;
    if (own) known?.forms.delete(job.key);
    return own;
  };
  const dispatch = () => {
    for (const job of queue.toSorted((a, b) => Number(isSlow(a)) - Number(isSlow(b)))) {
      const own = findThread(job);
      if (!own) continue;
      queue.splice(queue.indexOf(job), 1);
      clearTimeout(job.timer);
      run(own, job);
    }
  };
  const run = async (own: FormThread, job: Waiting): Promise<void> => {
    const { key, source, call, limitMs, loadMs } = job;
    const press = async (): Promise<WorkerReply> => {
      // The start of a thread counts as loading.
      if (call.kind === 'load' || !own.forms.has(key)) return { id: 0, missing: true };
      const start = Date.now();
      try {
        // Every first try has a slice, because others may come while it computes.
        const waiting = queue.filter((other) => other.key === key).length;
        const sliceMs = Math.max(slice.leastMs, slice.mostMs / (waiting + 1));
        return await own.thread.send({ ...call, form: key, ...(!job.isCostly && { sliceMs }) }, limitMs);
      } finally {
        if (Date.now() - start > slowMs) slowCallers.set(call.call.phoneNumber, true);
      }
    };
    own.job = job;
    try {
      let reply = await press();
      if ('missing' in reply) {
        own.forms.add(key);
        own.isLoading = true;
        reply = await own.thread.send({ kind: 'load', form: key, source }, loadMs);
        own.isLoading = false;
        onLoad?.(call.kind === 'load' ? 'ahead' : 'call');
        if (call.kind === 'press' && 'loads' in reply) reply = await press();
      }
      own.job = undefined;
      if (call.kind === 'press' && 'costly' in reply) {
        job.isCostly = true;
        slowCallers.set(call.call.phoneNumber, true);
        enqueue(job);
      } else job.resolve(reply);
      if ('loads' in reply && reply.loads >= maxLoads) {
        threads.delete(own);
        own.thread.retire();
      }
    } catch (error) {
      threads.delete(own);
      guilty.set(key, true);
      job.reject(error as Error);
    }
    dispatch();
  };
  const enqueue = (job: Waiting) => {
    const giveUp = () => {
      // Another thread would take as long to load it.
      if (isLoading(job.key)) return setGivingUp();
      queue.splice(queue.indexOf(job), 1);
      job.reject(new Error('a form was not answered: its thread was busy for too long'));
    };
    const setGivingUp = (ms = job.waitMs) => {
      job.timer = setTimeout(giveUp, ms);
    };
    setGivingUp(job.since + job.waitMs - Date.now());
    queue.push(job);
  };
  const isLoading = (key: string) => [...threads].some((own) => own.job?.key === key && own.isLoading);

  return {
    /** Rejects when it has waited or computed for too long; other calls continue. */
    send(job: FormJob) {
      if (queue.length >= maxWaiting)
        return Promise.reject(new Error('a form cannot be accepted: too many are waiting'));
      return new Promise<WorkerReply>((resolve, reject) => {
        enqueue({ ...job, since: Date.now(), resolve, reject });
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
