import { startThread, type Thread } from '../thread.ts';
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
  /** How long an inspection may take. */
  inspectMs?: number;
}

const workerFile = new URL(import.meta.url.replace(/forms(\.[jt]s)(\?.*)?$/, 'form-worker$1'));
const maxWaiting = 1_000;
/** Loading a form leaves some memory behind in the engine: after this many the thread is replaced. */
const maxLoads = 150;

type FormThread = Thread<WorkerCall, WorkerReply> & { sources: Set<number> };

export function createForms({ timeoutMs = 8_000, loadMs = 30_000, inspectMs = 60_000 }: FormsOptions = {}): Forms {
  const threads = new Set<FormThread>();
  const start = () => {
    const onEnd = () => threads.delete(thread);
    const options = { what: 'a form', maxMemoryMb: 1_024, maxWaiting, onEnd };
    const thread = Object.assign(startThread<WorkerCall, WorkerReply>(workerFile, options), {
      sources: new Set<number>(),
    });
    threads.add(thread);
    return thread;
  };
  const ids = new WeakMap<FormSource, number>();
  let count = 0;
  let serving: FormThread | undefined;
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
          const reply = await thread.send({ kind: 'inspect', source }, inspectMs).catch(toSlowReport);
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
        // A form that the thread has unloaded is sent again with the next press.
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

/** A form that is too much for the engine is a fault of the form, with all others that are found. */
function toSlowReport(error: Error): { report: FormReport } {
  const [, reason] = /^a form (took too long|failed its thread: .*)$/.exec(error.message) ?? [];
  if (reason === undefined) throw error;
  const faults = [{ line: 1, message: `the form cannot be loaded: it ${reason}` }];
  return { report: { title: '', formId: '', version: '', languages: [], names: [], faults } };
}
