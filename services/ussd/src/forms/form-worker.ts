import { parentPort } from 'node:worker_threads';
import { findCountingQuestions, isCounting } from './counting-questions.ts';
import { inspectForm } from './inspect.ts';
import { instanceIdOf, maxInstances, pressKey } from './press.ts';
import type { FormCall, FormReply, FormSource, WorkerCall, WorkerReply } from './protocol.ts';
import { createInstance, type FormRoot, type LoadedForm, loadXForm, restoreInstance } from './xforms.ts';

/**
 * The engine frees the instances of a loaded form all at once, with the form: after this many it is loaded again, and the
 * oldest ones go with the loading they belong to.
 */
const instancesOfLoading = 24;
const maxLoadings = 3;

interface Loading {
  form: LoadedForm;
  created: number;
  /** The instances in use, with the answers that they were built from. */
  instances: Map<string, { root: FormRoot; xml: string }>;
}

interface OpenForm {
  source: FormSource;
  counting: ReadonlySet<string>;
  /** The newest last. */
  loadings: Loading[];
}

const maxForms = 50;
const forms = new Map<number, OpenForm>();
let loads = 0;

async function takeLoading(open: OpenForm): Promise<Loading> {
  const last = open.loadings.at(-1);
  if (last && last.created < instancesOfLoading) return last;
  const fresh: Loading = { form: await loadXForm(open.source), created: 0, instances: new Map() };
  loads++;
  open.loadings = [...open.loadings, fresh].slice(-maxLoadings);
  return fresh;
}

async function press(open: OpenForm, call: FormCall): Promise<FormReply> {
  const { progress, phoneNumber } = call;
  const own = progress && open.loadings.find(({ instances }) => instances.has(progress.id));
  const known = progress && own?.instances.get(progress.id);
  let root = known?.xml === progress?.xml ? known?.root : undefined;
  let loading = own;
  if (!root || !loading) {
    if (progress) own?.instances.delete(progress.id);
    loading = await takeLoading(open);
    loading.created++;
    const restored = progress && (await restore(loading.form, progress.xml, phoneNumber));
    root = restored ?? createInstance(loading.form, phoneNumber);
    if (progress && !restored) return begin(loading, root, call);
  }
  const id = progress?.id ?? instanceIdOf(root);
  // Whatever goes wrong from here on leaves no half-changed instance behind.
  loading.instances.delete(id);
  const isTooMany = progress && Number(call.input) > maxInstances && isCounting(open.counting, progress.at);
  const { input: _, ...shown } = call;
  const reply = await pressKey(root, id, isTooMany ? shown : call);
  if (reply.kind !== 'screen') return reply;
  loading.instances.set(id, { root, xml: reply.progress.xml });
  return isTooMany ? { ...reply, screen: { ...reply.screen, hint: tooManyInstances } } : reply;
}

const tooManyInstances = {
  key: 'hint.range',
  values: { 'question.min': '0', 'question.max': String(maxInstances) },
};

/** Answers to an earlier version of the form that this one cannot read are `undefined`. */
function restore(form: LoadedForm, xml: string, phoneNumber: string): Promise<FormRoot | undefined> {
  return restoreInstance(form, xml, phoneNumber).catch(() => undefined);
}

async function begin(
  loading: Loading,
  root: FormRoot,
  { progress: _, input: __, ...call }: FormCall,
): Promise<FormReply> {
  const id = instanceIdOf(root);
  const reply = await pressKey(root, id, call);
  if (reply.kind !== 'screen') return reply;
  loading.instances.set(id, { root, xml: reply.progress.xml });
  return { ...reply, screen: { ...reply.screen, hint: { key: 'form.changed' } } };
}

function findForm(key: number, source: FormSource | undefined): OpenForm {
  const open = forms.get(key) ?? (source && { source, counting: findCountingQuestions(source.xml), loadings: [] });
  if (!open) throw new Error('the form is not known here');
  forms.delete(key);
  forms.set(key, open);
  for (const oldest of forms.keys()) {
    if (forms.size <= maxForms) break;
    forms.delete(oldest);
  }
  return open;
}

async function run(call: WorkerCall): Promise<WorkerReply> {
  const { id } = call;
  try {
    if (call.kind === 'inspect') return { id, report: await inspectForm(call.source) };
    return { id, reply: await press(findForm(call.form, call.source), call.call), loads };
  } catch (error) {
    return { id, fault: error instanceof Error ? `${error.message}\n${error.stack}` : String(error) };
  }
}

parentPort?.on('message', (call: WorkerCall) => {
  run(call).then((reply) => parentPort?.postMessage(reply));
});
