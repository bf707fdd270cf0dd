import { Worker } from 'node:worker_threads';
import type { FormCall, FormReply, FormReport, FormSource, WorkerCall, WorkerReply } from './protocol.ts';

/**
 * ODK's engine in a thread of its own: what it computes holds up nobody who is in no form, and a form whose expressions do
 * not end is stopped with its thread.
 */
export interface Forms {
  /** Beside the thread that answers callers. */
  inspect(source: FormSource): Promise<FormReport>;
  press(source: FormSource, call: FormCall): Promise<FormReply>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface FormsOptions {
  /** How long one key press may compute. */
  timeoutMs?: number;
  /** How much longer the first one, which loads the form. */
  loadMs?: number;
}

const workerFile = new URL(import.meta.url.replace(/forms(\.[jt]s)(\?.*)?$/, 'form-worker$1'));
const maxWaiting = 1_000;
/** Loading a form leaves some memory behind in the engine: after this many the thread is replaced. */
const maxLoads = 150;
const inspectMs = 60_000;

export function createForms({ timeoutMs = 8_000, loadMs = 30_000 }: FormsOptions = {}): Forms {
  const threads = new Set<Thread>();
  const start = () => {
    const thread = startThread((ended) => threads.delete(ended));
    threads.add(thread);
    return thread;
  };
  const ids = new WeakMap<FormSource, number>();
  let count = 0;
  let serving: Thread | undefined;
  const close = async () => {
    await Promise.all([...threads].map((thread) => thread.stop()));
  };
  let checks: Promise<unknown> = Promise.resolve();
  return {
    inspect(source) {
      const run = checks.then(async () => {
        // Nobody waits for a thread that has served nobody yet.
        const isOwn = count > 0;
        if (!isOwn && !serving?.isUsable()) serving = start();
        const thread = isOwn || !serving ? start() : serving;
        try {
          const reply = await thread.send({ kind: 'inspect', source }, inspectMs);
          if (!('report' in reply)) throw new Error('fault' in reply ? reply.fault : 'no report');
          return reply.report;
        } finally {
          if (isOwn) await thread.stop();
        }
      });
      checks = run.catch(() => {});
      return run;
    },
    async press(source, call) {
      if (!serving?.isUsable()) serving = start();
      const thread = serving;
      const form = ids.get(source) ?? ++count;
      ids.set(source, form);
      const isKnown = thread.sources.has(form);
      thread.sources.add(form);
      const wanted = { kind: 'press', form, call, ...(!isKnown && { source }) } as const;
      const reply = await thread.send(wanted, isKnown ? timeoutMs : timeoutMs + loadMs);
      if (!('reply' in reply)) {
        // A form that the thread has let go is sent again with the next press.
        thread.sources.delete(form);
        throw new Error(`a form failed: ${'fault' in reply ? reply.fault : 'no reply'}`);
      }
      if (reply.loads >= maxLoads) thread.retire();
      return reply.reply;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Unsent = WorkerCall extends infer Call ? (Call extends WorkerCall ? Omit<Call, 'id'> : never) : never;

interface Waiting {
  call: WorkerCall;
  timeoutMs: number;
  resolve(reply: WorkerReply): void;
  reject(error: Error): void;
}

interface Thread {
  sources: Set<number>;
  send(call: Unsent, timeoutMs: number): Promise<WorkerReply>;
  isUsable(): boolean;
  /** Ends once it has answered what it was sent. */
  retire(): void;
  stop(): Promise<void>;
}

/** One call at a time, so that the one that does not end is known. */
function startThread(onEnd: (thread: Thread) => void): Thread {
  const worker = new Worker(workerFile, { resourceLimits: { maxOldGenerationSizeMb: 1_024 } });
  // It must not keep the process alive, nor end it.
  worker.unref();
  const queue: Waiting[] = [];
  let current: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;
  let state: 'running' | 'retired' | 'ended' = 'running';
  let count = 0;

  const end = (reason: string) => {
    if (state === 'ended') return;
    state = 'ended';
    clearTimeout(timer);
    onEnd(thread);
    for (const waiting of [...(current ? [current] : []), ...queue]) waiting.reject(new Error(reason));
    queue.length = 0;
    current = undefined;
  };
  const next = () => {
    clearTimeout(timer);
    current = queue.shift();
    if (!current) {
      if (state === 'retired') thread.stop();
      return;
    }
    timer = setTimeout(() => {
      end('a form took too long');
      worker.terminate();
    }, current.timeoutMs);
    worker.postMessage(current.call);
  };
  worker.on('message', (reply: WorkerReply) => {
    if (reply.id !== current?.call.id) return;
    current.resolve(reply);
    next();
  });
  worker.on('error', (error) => end(`the thread of the forms failed: ${error.message}`));
  worker.on('exit', () => end('the thread of the forms ended'));

  const thread: Thread = {
    sources: new Set(),
    send(call, timeoutMs) {
      if (state === 'ended' || queue.length >= maxWaiting)
        return Promise.reject(new Error('too many wait for the forms'));
      return new Promise((resolve, reject) => {
        queue.push({ call: { ...call, id: ++count } as WorkerCall, timeoutMs, resolve, reject });
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
