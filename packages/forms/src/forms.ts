import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { type FormSource, type Menu, type Step, takeFormReply } from '@palaver/program/internal';
import type { Thread } from '@palaver/service-kit/internal';
import type { FormCall, FormReport, WorkerCall, WorkerReply } from './form-protocol.ts';
import { createFormThreads, startFormThread } from './form-threads.ts';

interface FormsOptions {
  threads?: number;
  timeoutMs?: number;
  loadMs?: number;
  /** How long a key press waits for others. The telecom gateway gives up after a few seconds more. */
  waitMs?: number;
  inspectMs?: number;
  onLoad?(by: 'ahead' | 'call'): void;
}

const processors = Math.min(8, Math.max(3, availableParallelism()));
const idleMs = 10_000;
const warmWaitMs = 600_000;
/** A thread keeps fifty forms. */
const maxWarm = 40;

/** In threads, so that what forms compute holds up nobody else, and a form whose expressions do not end is stopped with its thread. */
export function createForms(options: FormsOptions = {}) {
  const { threads = processors, timeoutMs = 4_000, loadMs = 30_000, waitMs = 10_000 } = options;
  const { inspectMs = 60_000, onLoad } = options;
  const keys = new WeakMap<FormSource, string>();
  const keyOf = (source: FormSource) => {
    const key = keys.get(source) ?? createHash('sha256').update(JSON.stringify(source)).digest('base64');
    keys.set(source, key);
    return key;
  };
  const times = { limitMs: timeoutMs, loadMs };
  let inspecting: Thread<WorkerCall, WorkerReply> | undefined;
  let isInspecting = false;
  let idle: NodeJS.Timeout | undefined;
  let checks: Promise<unknown> = Promise.resolve();
  const stopInspecting = async () => {
    clearTimeout(idle);
    await inspecting?.stop();
    inspecting = undefined;
  };
  /** The engine takes seconds to start: a thread that has it already is used further. */
  const startThread = () => {
    if (isInspecting || !inspecting?.isUsable()) return startFormThread();
    const thread = inspecting;
    inspecting = undefined;
    return thread;
  };
  const pool = createFormThreads(threads, startThread, onLoad);
  const close = async () => {
    await Promise.all([pool.stop(), stopInspecting()]);
  };
  return {
    inspect(source: FormSource) {
      const run = checks.then(async () => {
        clearTimeout(idle);
        if (!inspecting?.isUsable()) inspecting = startFormThread();
        isInspecting = true;
        try {
          const reply = await inspecting.send({ kind: 'inspect', source }, inspectMs).catch(toSlowReport);
          if (!('report' in reply)) throw new Error('fault' in reply ? reply.fault : 'no report');
          return reply.report;
        } finally {
          isInspecting = false;
          idle = setTimeout(stopInspecting, idleMs).unref();
        }
      });
      checks = run.catch(() => {});
      return run;
    },
    async press(source: FormSource, call: FormCall) {
      const reply = await pool.send({ key: keyOf(source), source, call: { kind: 'press', call }, ...times, waitMs });
      if (!('reply' in reply)) throw new Error(`a form failed: ${'fault' in reply ? reply.fault : 'no reply'}`);
      return reply.reply;
    },
    /** Loads forms before anybody calls; one that cannot be loaded is tried again for its first caller. */
    warm(sources: Iterable<FormSource>) {
      for (const source of [...sources].slice(0, maxWarm))
        pool.send({ key: keyOf(source), source, call: { kind: 'load' }, ...times, waitMs: warmWaitMs }).catch(() => {});
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

export type Forms = ReturnType<typeof createForms>;

function toSlowReport(error: Error): { report: FormReport } {
  const [, reason] = /^a form (took too long|failed its thread: .*)$/.exec(error.message) ?? [];
  if (reason === undefined) throw error;
  const faults = [{ line: 1, message: `the form cannot be loaded: it ${reason}` }];
  return { report: { title: '', formId: '', version: '', languages: [], names: [], faults } };
}

/** A form computes from its answers alone: nothing of it needs to be recorded until it is complete. */
export async function askForm(forms: Pick<Forms, 'press'>, menu: Menu, { dialogue, form }: Step): Promise<Step> {
  const state = menu.states.get(dialogue.state);
  const source = state?.kind === 'form' ? menu.forms.get(state.form) : undefined;
  if (state?.kind !== 'form' || !source) throw new Error(`state ${dialogue.state} has no form`);
  const { language, caller: { phoneNumber = '' } = {} } = dialogue;
  const { take, waive } = state;
  const progress = dialogue.form?.progress;
  const reply = await forms.press(source, { language, phoneNumber, take, waive, progress, ...form });
  return takeFormReply(menu, dialogue, reply);
}
