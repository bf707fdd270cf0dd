import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import type { FormReply, FormSource } from '@palaver/program/internal';
import type { FormCall, WorkerCall, WorkerReply } from './form-protocol.ts';
import { inspectForm } from './inspect.ts';
import { instanceIdOf, pressKey } from './press.ts';
import {
  computedMs,
  findRefusal,
  hasGrown,
  liftLimits,
  limitBuilding,
  limitInput,
  RefusedAnswer,
  RepeatsChanged,
  tookTooLong,
} from './repeats.ts';
import { createInstance, type FormRoot, type LoadedForm, loadXForm, restoreInstance } from './xforms.ts';

/** The engine frees the instances of a loaded form only together: after this many it is loaded again. */
const instancesOfLoading = 24;

interface Loading {
  form: LoadedForm;
  created: number;
  /** Larger for those that were used later. */
  usedAt: number;
  instances: Map<string, Instance & { xml: string }>;
}

interface Instance {
  root: FormRoot;
  builtMs: number;
}

interface OpenForm {
  source: FormSource;
  loadings: Loading[];
}

const maxForms = 50;
const forms = new Map<string, OpenForm>();
let loads = 0;
let uses = 0;

function findLoading({ loadings }: OpenForm): Loading | undefined {
  const last = loadings.at(-1);
  return last && last.created < instancesOfLoading ? last : undefined;
}

async function press(
  open: OpenForm,
  call: FormCall,
  sliceMs: number | undefined,
): Promise<FormReply | 'missing' | 'costly'> {
  const { progress, phoneNumber } = call;
  const own = progress && open.loadings.find(({ instances }) => instances.has(progress.id));
  const known = progress && own?.instances.get(progress.id);
  let before: Instance | undefined = known?.xml === progress?.xml ? known : undefined;
  let loading = own;
  if (!before || !loading) {
    loading = findLoading(open);
    if (!loading) return 'missing';
    if (progress) own?.instances.delete(progress.id);
    loading.created++;
    const start = computedMs();
    // Answers to an earlier version of the form may be ones that this one cannot read.
    const restored =
      progress && (await restoreInstance(loading.form, progress.xml, phoneNumber).catch(() => undefined));
    const root = restored ?? createInstance(loading.form, phoneNumber);
    if (progress && !restored) return begin(loading, root, call);
    before = { root, builtMs: computedMs() - start };
  }
  loading.usedAt = ++uses;
  const id = progress?.id ?? instanceIdOf(before.root);
  // Whatever goes wrong from here on leaves no half-changed instance behind.
  loading.instances.delete(id);
  const { input, ...shown } = call;
  const reply = await pressKey(before.root, id, shown);
  if (input === undefined || reply.kind !== 'screen') return keep(loading, id, { ...before, reply });
  try {
    return keep(loading, id, await takeInput(loading, before, { id, call, sliceMs }));
  } catch (error) {
    const reason = findRefusal() ?? error;
    if (!(reason instanceof RefusedAnswer)) throw reason;
    if (sliceMs !== undefined && tookTooLong()) return 'costly';
    return { ...reply, screen: { ...reply.screen, hint: reason.hint } };
  }
}

function keep({ instances }: Loading, id: string, { reply, ...instance }: Instance & { reply: FormReply }): FormReply {
  if (reply.kind === 'screen') instances.set(id, { ...instance, xml: reply.progress.xml });
  return reply;
}

async function takeInput(
  loading: Loading,
  before: Instance,
  { id, call, sliceMs }: { id: string; call: FormCall; sliceMs: number | undefined },
): Promise<Instance & { reply: FormReply }> {
  const start = computedMs();
  let { root } = before;
  limitInput(root, before.builtMs, sliceMs);
  const reply = await pressKey(root, id, call).catch(async (error: unknown) => {
    if (!(error instanceof RepeatsChanged)) throw error;
    // The engine makes the instances right only as the form is built.
    limitBuilding();
    loading.created++;
    root = await restoreInstance(loading.form, root.instanceState.instanceXML, call.phoneNumber);
    return pressKey(root, id, call);
  });
  const refused = findRefusal();
  if (refused) throw refused;
  const tookMs = computedMs() - start;
  if (root !== before.root) return { root, builtMs: tookMs, reply };
  return { root, builtMs: before.builtMs + (hasGrown() ? tookMs : 0), reply };
}

async function begin(
  loading: Loading,
  root: FormRoot,
  { progress: _, input: __, ...call }: FormCall,
): Promise<FormReply> {
  const id = instanceIdOf(root);
  const reply = keep(loading, id, { root, builtMs: 0, reply: await pressKey(root, id, call) });
  if (reply.kind !== 'screen') return reply;
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

async function load(open: OpenForm, maxHeapMb: number): Promise<void> {
  if (findLoading(open)) return;
  if (getHeapStatistics().used_heap_size > maxHeapMb * 2 ** 20) dropOldest();
  const fresh: Loading = { form: await loadXForm(open.source), created: 1, usedAt: ++uses, instances: new Map() };
  loads++;
  // The first instance takes the engine longer than others.
  createInstance(fresh.form, '');
  open.loadings.push(fresh);
}

/** A part at a time: what is dropped is free only after the engine's next collection. */
function dropOldest(): void {
  const all = [...forms.values()].flatMap(({ loadings }) => loadings).toSorted((a, b) => a.usedAt - b.usedAt);
  const oldest = new Set(all.slice(0, Math.ceil(all.length / 8)));
  for (const open of forms.values()) open.loadings = open.loadings.filter((loading) => !oldest.has(loading));
}

async function run(call: WorkerCall): Promise<WorkerReply> {
  const { id } = call;
  const start = computedMs();
  liftLimits();
  try {
    if (call.kind === 'inspect') return { id, report: await inspectForm(call.source) };
    const open = findForm(call.form, 'source' in call ? call.source : undefined);
    if (open && call.kind === 'load') {
      await load(open, call.maxHeapMb);
      return { id, loads };
    }
    const reply = open && call.kind === 'press' ? await press(open, call.call, call.sliceMs) : 'missing';
    if (reply === 'missing') return { id, missing: true };
    return reply === 'costly' ? { id, costly: true } : { id, reply, loads, tookMs: computedMs() - start };
  } catch (error) {
    return { id, fault: error instanceof Error ? `${error.message}\n${error.stack}` : String(error) };
  }
}

parentPort?.on('message', (call: WorkerCall) => {
  run(call).then((reply) => parentPort?.postMessage(reply));
});
