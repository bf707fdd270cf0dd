import { parentPort } from 'node:worker_threads';
import { inspectForm } from './inspect.ts';
import { instanceIdOf, pressKey } from './press.ts';
import type { FormCall, FormProgress, FormReply, FormSource, WorkerCall, WorkerReply } from './protocol.ts';
import { limitInstances, RefusedAnswer, RepeatsChanged, refusalOf } from './repeats.ts';
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
  /** The newest last. */
  loadings: Loading[];
}

const maxForms = 50;
const forms = new Map<string, OpenForm>();
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
  limitInstances(root);
  const pressed = await pressKey(root, id, call).then(
    (reply) => ({ root, reply }),
    (error: unknown) => {
      if (!progress || !loading || !root) throw error;
      return pressAgain(loading, root, { ...call, progress }, error);
    },
  );
  if (pressed.reply.kind === 'screen')
    loading.instances.set(id, { root: pressed.root, xml: pressed.reply.progress.xml });
  return pressed.reply;
}

interface Pressed {
  root: FormRoot;
  reply: FormReply;
}

/** The engine has changed the instance by half: it is built again, with the answer or, where that is refused, as it was before. */
async function pressAgain(
  loading: Loading,
  root: FormRoot,
  call: FormCall & { progress: FormProgress },
  error: unknown,
): Promise<Pressed> {
  const { input: _, ...shown } = call;
  const { id, xml } = call.progress;
  const build = (answers: string) => {
    loading.created++;
    return restoreInstance(loading.form, answers, call.phoneNumber);
  };
  let reason = refusalOf(error);
  if (reason instanceof RepeatsChanged) {
    try {
      const changed = await build(root.instanceState.instanceXML);
      limitInstances(changed, { hasAnswer: true });
      return { root: changed, reply: await pressKey(changed, id, call) };
    } catch (failure) {
      reason = refusalOf(failure);
    }
  }
  if (!(reason instanceof RefusedAnswer)) throw reason;
  const { hint } = reason;
  const before = await build(xml);
  const reply = await pressKey(before, id, shown);
  return { root: before, reply: reply.kind === 'screen' ? { ...reply, screen: { ...reply.screen, hint } } : reply };
}

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

function findForm(key: string, source: FormSource | undefined): OpenForm | undefined {
  const open = forms.get(key) ?? (source && { source, loadings: [] });
  if (!open) return undefined;
  forms.delete(key);
  forms.set(key, open);
  for (const oldest of forms.keys()) {
    if (forms.size <= maxForms) break;
    forms.delete(oldest);
  }
  return open;
}

/** The first instance takes the engine longer than others. */
async function load(open: OpenForm): Promise<void> {
  const loading = await takeLoading(open);
  if (loading.created > 0) return;
  loading.created++;
  createInstance(loading.form, '');
}

async function run(call: WorkerCall): Promise<WorkerReply> {
  const { id } = call;
  try {
    if (call.kind === 'inspect') return { id, report: await inspectForm(call.source) };
    const open = findForm(call.form, call.source);
    if (!open) return { id, missing: true };
    if (call.kind === 'press') return { id, reply: await press(open, call.call), loads };
    await load(open);
    return { id, loads };
  } catch (error) {
    return { id, fault: error instanceof Error ? `${error.message}\n${error.stack}` : String(error) };
  }
}

parentPort?.on('message', (call: WorkerCall) => {
  run(call).then((reply) => parentPort?.postMessage(reply));
});
