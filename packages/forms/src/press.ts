import type { FormHint, FormProgress, FormReply } from '@palaver/program/internal';
import { backKeyFor, reservedKeys, searchAbove } from '@palaver/program/keys';
import {
  answerQuestion,
  canKeep,
  clearAnswer,
  forbids,
  hasMatch,
  readAnswer,
  type ScreenOptions,
  screenTypeOf,
  toHint,
  toScreen,
} from './answers.ts';
import type { FormCall } from './form-protocol.ts';
import { maxInstances } from './repeats.ts';
import { isBlank, isPathOf, type Stop, stopsOf } from './walk.ts';
import { type FormLanguage, type FormNode, type FormRoot, readInstance } from './xforms.ts';

export async function pressKey(root: FormRoot, id: string, call: FormCall): Promise<FormReply> {
  useLanguage(root, call.language);
  const { progress, input } = call;
  const stops = stopsOf(root);
  const found = stops.findIndex(({ at }) => at === progress?.at);
  const index = Math.max(0, found);
  const stop = stops[index] as Stop;
  const show = (at: string | undefined, { search, hint }: ScreenOptions = {}): FormReply => {
    const all = stopsOf(root);
    const next = all.find((candidate) => candidate.at === at) ?? (all[0] as Stop);
    const begun = input === undefined ? progress?.begun : true;
    const kept: FormProgress = { id, xml: root.instanceState.instanceXML, at: next.at };
    const seen = { ...kept, ...(search !== undefined && { search }), ...(begun && { begun }) };
    return { kind: 'screen', progress: seen, screen: toScreen(next, { search, hint }) };
  };
  // What follows may have changed with the answer.
  const showNext = () => {
    const now = stopsOf(root);
    const at = now.findIndex((candidate) => candidate.at === stop.at);
    return show(now[at + 1]?.at);
  };
  if (input === undefined) return show(stop.at);
  if (input === backKeyOf(stop)) return goBack(root, stops, index, show);
  const stay = (hint: FormHint) => show(stop.at, { hint });
  if (stop.kind === 'send') return input === '1' ? send(root, call, show) : stay({ key: 'hint.choice' });
  if (stop.kind === 'another') {
    if (input === '2') return showNext();
    const count = stop.node.currentState.children?.length ?? 0;
    if (input !== '1') return stay({ key: 'hint.choice' });
    if (count >= maxInstances) return stay({ key: 'form.full' });
    stop.node.addInstances();
    const added = stopsOf(root).find(({ instances }) =>
      instances.some(({ range, index }) => range === stop.node && index === count),
    );
    return show(added?.at ?? stop.at);
  }
  return answer({ stop, input, call, show, stay, showNext });
}

interface Asked {
  stop: Stop;
  input: string;
  call: FormCall;
  show(at: string | undefined, options?: ScreenOptions): FormReply;
  stay(hint: FormHint): FormReply;
  showNext(): FormReply;
}

function answer({ stop, input, call, show, stay, showNext }: Asked): FormReply {
  const { node } = stop;
  const type = screenTypeOf(node);
  if (type === 'note' && forbids(node)) return stay({ key: 'form.blocked' });
  if (type === 'note') return input === '1' || input === '' ? showNext() : stay({ key: 'hint.choice' });
  if (input === reservedKeys.skip && canKeep(node)) return showNext();
  if (!node.currentState.required && (input === reservedKeys.skip || input === '')) {
    clearAnswer(node);
    return showNext();
  }
  if (input === '') return stay({ key: 'hint.empty' });
  const isLong = (node.currentState.valueOptions?.length ?? 0) > searchAbove;
  if (isLong && /\p{L}/u.test(input)) {
    if (!hasMatch(node, input)) return stay({ key: 'hint.noMatch' });
    return show(stop.at, { search: input });
  }
  const hint = answerQuestion(node, input);
  return hint ? show(stop.at, { hint, search: call.progress?.search }) : showNext();
}

function backKeyOf(stop: Stop): string {
  const type = stop.kind === 'question' ? screenTypeOf(stop.node) : 'note';
  return backKeyFor(type === 'integer' || type === 'decimal');
}

function goBack(root: FormRoot, stops: readonly Stop[], index: number, show: Asked['show']): FormReply {
  const stop = stops[index] as Stop;
  const instance = stop.instances.at(-1);
  const { children } = instance?.range.currentState ?? {};
  const isNew =
    instance?.range.nodeType === 'repeat-range:uncontrolled' &&
    instance.index === (children?.length ?? 0) - 1 &&
    stop.sections.some((section) => section === children?.[instance.index]);
  // An instance that was added by mistake is gone again.
  if (index > 0 && instance && isNew && isBlank(children?.[instance.index] as FormNode)) {
    instance.range.removeInstances(instance.index);
    const another = stopsOf(root).find(({ kind, node }) => kind === 'another' && node === instance.range);
    if (another) return show(another.at);
  }
  return index === 0 ? { kind: 'left' } : show(stops[index - 1]?.at);
}

async function send(root: FormRoot, { take = {}, waive = [] }: FormCall, show: Asked['show']): Promise<FormReply> {
  // As in ODK Collect, a calculation that is empty or out of its limits keeps no form from being sent.
  const isHarmless = (node: FormNode) => screenTypeOf(node) === 'note' && !forbids(node);
  const asked = new Set(stopsOf(root).flatMap(({ at, node }) => (isHarmless(node) ? [] : at)));
  const wrong = root.validationState.violations?.find(({ reference }) => asked.has(reference));
  if (wrong) return show(wrong.reference, { hint: toHint(wrong.violation) });
  const prefix = `${root.currentState.reference}/`.length;
  const answers = Object.fromEntries(readAnswers(root, prefix));
  const missing = root.validationState.violations ?? [];
  const waived = missing.filter(({ reference }) => waive.some((path) => isPathOf(reference, path)));
  const paths = waived.map(({ reference }) => reference.slice(prefix)).join(' ');
  if (paths !== '') answers[waivedName] = paths;
  const xml = sayWaived(await readInstance(root), paths);
  const [, attributes = ''] = /^(?:<\?[^>]*\?>)?\s*<[\w:.-]+([^>]*)>/.exec(xml) ?? [];
  return {
    kind: 'complete',
    submission: {
      instanceId: instanceIdOf(root),
      formId: attributeOf(attributes, 'id'),
      version: attributeOf(attributes, 'version'),
      xml,
      answers,
      values: Object.fromEntries(Object.entries(take).map(([name, path]) => [name, findAnswer(answers, path)])),
    },
  };
}

const waivedName = 'palaver:waived';

/** An attribute of the instance, which servers of ODK keep and do not look at. */
function sayWaived(xml: string, paths: string): string {
  if (paths === '') return xml;
  const attributes = ` xmlns:palaver="urn:palaver:forms" ${waivedName}="${paths}"`;
  return xml.replace(/^((?:<\?[^>]*\?>)?\s*<[\w:.-]+)/, (root) => root + attributes);
}

function attributeOf(attributes: string, name: string): string {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
}

/** Every instance has one: the engine adds it to forms that do not ask for it. */
export function instanceIdOf(root: FormRoot): string {
  return /<(?:\w+:)?instanceID>\s*([^<\s]+)/.exec(root.instanceState.instanceXML)?.[1] ?? '';
}

function* readAnswers(node: FormNode, prefix: number): Generator<[string, string]> {
  for (const child of node.currentState.children ?? []) {
    const { reference, children, relevant } = child.currentState;
    if (!relevant) continue;
    if (children) yield* readAnswers(child, prefix);
    else yield [reference.slice(prefix), readAnswer(child).join(' ')];
  }
}

function findAnswer(answers: Readonly<Record<string, string>>, path: string): string {
  const wanted = `/${path.replace(/^\//, '')}`;
  return Object.entries(answers).find(([name]) => `/${name.replace(/\[\d+\]/g, '')}`.endsWith(wanted))?.[1] ?? '';
}

/** `French (fr)` and `French` are the language fr; a form without it keeps its own. */
function useLanguage(root: FormRoot, wanted: string): void {
  const languages = root.languages.flatMap((language) => ('language' in language ? [language] : []));
  const english = new Intl.DisplayNames(['en'], { type: 'language' }).of(wanted)?.toLowerCase();
  const own = new Intl.DisplayNames([wanted], { type: 'language' }).of(wanted)?.toLowerCase();
  const isWanted = ({ language }: FormLanguage) => {
    const name = language.toLowerCase();
    const code = /\(([\w-]+)\)\s*$/.exec(name)?.[1] ?? name;
    return code === wanted || code.split('-', 1)[0] === wanted || name === english || name === own;
  };
  const found = languages.find(isWanted);
  if (found && root.currentState.activeLanguage.language !== found.language) root.setLanguage(found);
}
