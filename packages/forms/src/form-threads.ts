import { totalmem } from 'node:os';
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
  startedAt: number;
  job?: Waiting | undefined;
  isLoading?: boolean;
}

const workerFile = new URL(import.meta.url.replace(/form-threads(\.[jt]s)(\?.*)?$/, 'form-worker$1'));
const threadOptions = { what: 'a form', maxMemoryMb: 1_024, maxWaiting: 1 };
/** The memory that forms may take in a thread before the oldest are dropped. All threads together leave half of it to others. */
const mostHeapMb = 400;
const maxWaiting = 1_000;
/** Loading a form leaves some memory behind in the engine: after this many the thread is replaced. */
const maxLoads = 1_500;
/** How long a call waits for the thread of its form, and how long that may work for another caller, before the call goes to another thread. */
const homeWaitMs = 300;
const maxHomes = 100_000;
/** How long to keep a form that ended its thread apart from the others. */
const separation = { max: 1_000, ttl: 600_000 };
/** How long a key press may compute before the other callers of its form go first; less where many wait. */
const slice = { mostMs: 250, leastMs: 50 };
/** A caller whose key press computed for this long comes after the others for a while. */
const slowMs = 500;
const slowness = { max: 10_000, ttl: 60_000 };

export const startFormThread = () => startAnyThread<WorkerCall, WorkerReply>(workerFile, threadOptions);

/** Each form leaves a thread free, so a form that computes for long or for ever holds up nobody in another form. */
export function createFormThreads(
  maxThreads: number,
  startThread: typeof startFormThread,
  onLoad?: (by: 'ahead' | 'call') => void,
) {
  const threads = new Set<FormThread>();
  const maxPerForm = Math.max(1, maxThreads - 1);
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const maxHeapMb = Math.min(mostHeapMb, memory / 2 ** 21 / maxThreads);
  const homes = new LRUCache<string, FormThread>({ max: maxHomes });
  const queue: Waiting[] = [];
  /** Forms that have ended their thread: all of them together have one, and one for their slow callers. */
  const failed = new LRUCache<string, true>(separation);
  const hasFailed = (key: string) => failed.has(key);
  const slowCallers = new LRUCache<string, true>(slowness);
  const isSlow = ({ call, isCostly }: Waiting) =>
    isCostly === true || (call.kind === 'press' && slowCallers.has(call.call.phoneNumber));
  let retryTimer: NodeJS.Timeout | undefined;

  const start = () => {
    const own: FormThread = { thread: startThread(), forms: new Set(), startedAt: 0 };
    threads.add(own);
    return own;
  };
  /** Jobs of one lane share a thread, those of a form as many as a form may have. */
  const laneOf = (job: Waiting) => {
    if (job.call.kind === 'load') return 'load';
    if (isSlow(job)) return hasFailed(job.key) ? 'slow and failed' : `slow ${job.key}`;
    return hasFailed(job.key) ? 'failed' : job.key;
  };
  const findThread = (job: Waiting): FormThread | undefined => {
    for (const own of threads) if (!own.job && !own.thread.isUsable()) threads.delete(own);
    const all = [...threads];
    const running = all.flatMap((own) => own.job ?? []);
    const lane = laneOf(job);
    if (lane !== job.key && running.some((other) => laneOf(other) === lane)) return undefined;
    // All slow callers together leave a thread to the others too.
    if (isSlow(job) && running.filter(isSlow).length >= maxPerForm) return undefined;
    const most = job.call.kind === 'load' ? 1 : maxPerForm;
    if (running.filter(({ key }) => key === job.key).length >= most) return undefined;
    const free = all.filter((own) => !own.job);
    // Loading ahead leaves a thread to callers.
    if (job.call.kind === 'load' && maxThreads > 1 && running.length >= maxThreads - 1) return undefined;
    const having = all.filter(({ forms }) => forms.has(job.key)).toSorted((a, b) => a.startedAt - b.startedAt);
    const homeOf = job.call.kind === 'press' ? homes.get(job.call.call.progress?.id ?? '') : undefined;
    const home = having.find((own) => own === homeOf);
    const idle = having.find((own) => !own.job);
    const known = home ?? idle;
    if (known && !known.job) return known;
    // The instance of a caller is in one thread: building it in another takes longer than most key presses.
    const since = home ? home.startedAt : job.since;
    if (having.length > 0 && Date.now() - since < homeWaitMs) {
      retryTimer ??= setTimeout(() => {
        retryTimer = undefined;
        dispatch();
      }, homeWaitMs).unref();
      return undefined;
    }
    if (idle) return idle;
    const fits = ({ forms }: FormThread) => [...forms].every((key) => hasFailed(key) === hasFailed(job.key));
    const [emptiest] = free.sort((a, b) => Number(fits(b)) - Number(fits(a)) || a.forms.size - b.forms.size);
    const own = emptiest?.forms.size !== 0 && threads.size < maxThreads ? start() : emptiest;
    if (own && having.length >= maxPerForm) having[0]?.forms.delete(job.key);
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
      // Every first try has a slice, because others may come while it computes.
      const waiting = queue.filter((other) => other.key === key).length;
      const sliceMs = Math.max(slice.leastMs, slice.mostMs / (waiting + 1));
      return own.thread.send({ ...call, form: key, ...(!job.isCostly && { sliceMs }) }, limitMs);
    };
    const noteSlow = () => {
      if (call.kind === 'press') slowCallers.set(call.call.phoneNumber, true);
    };
    own.job = job;
    own.startedAt = Date.now();
    try {
      let reply = await press();
      if ('missing' in reply) {
        own.forms.add(key);
        own.isLoading = true;
        reply = await own.thread.send({ kind: 'load', form: key, source, maxHeapMb }, loadMs);
        own.isLoading = false;
        onLoad?.(call.kind === 'load' ? 'ahead' : 'call');
        if (call.kind === 'press' && 'loads' in reply) reply = await press();
      }
      own.job = undefined;
      if ('reply' in reply && reply.reply.kind === 'screen') homes.set(reply.reply.progress.id, own);
      if ('reply' in reply && reply.tookMs > slowMs) noteSlow();
      if ('costly' in reply) {
        job.isCostly = true;
        noteSlow();
        enqueue(job);
      } else job.resolve(reply);
      if ('loads' in reply && reply.loads >= maxLoads) {
        threads.delete(own);
        own.thread.retire();
      }
    } catch (error) {
      threads.delete(own);
      failed.set(key, true);
      if (!own.isLoading) noteSlow();
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
    setGivingUp(Math.max(0, job.since + job.waitMs - Date.now()));
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
      clearTimeout(retryTimer);
      for (const { timer, reject } of queue.splice(0)) {
        clearTimeout(timer);
        reject(new Error('the service is closing'));
      }
      await Promise.all([...threads].map(({ thread }) => thread.stop()));
    },
  };
}
