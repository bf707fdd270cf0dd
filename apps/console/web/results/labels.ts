import { intlLocale, t } from '../i18n/text.ts';
import { type ProgramModel, sayIn, toRecord } from '../programs/read-program.ts';
import type { SetRef } from './results-api.ts';

interface ValueCount {
  value: string;
  count: number;
}

export interface Labels {
  questions: ReadonlyMap<string, string>;
  choices: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

export const noLabels: Labels = { questions: new Map(), choices: new Map() };

/** The answers of a repeat are numbered: `children[2]/age`. */
const toQuestion = (name: string) => name.replace(/\[\d+\]/g, '');

export function questionLabel({ questions }: Labels, name: string): string {
  return questions.get(toQuestion(name)) ?? name;
}

/** Several choices are written with blanks between them. */
export function choiceLabel({ choices }: Labels, name: string, value: string): string {
  const known = choices.get(toQuestion(name));
  if (!known || value === '') return value;
  return (
    known.get(value) ??
    value
      .split(' ')
      .map((code) => known.get(code) ?? code)
      .join(', ')
  );
}

export function countChoices({ choices }: Labels, { name, values }: { name: string; values: ValueCount[] }) {
  const known = choices.get(toQuestion(name));
  const counts = new Map<string, number>();
  for (const { value, count } of values) {
    const parts = value.split(' ');
    const isSeveral = !known?.has(value) && parts.every((part) => known?.has(part));
    for (const part of isSeveral ? parts : [value]) counts.set(part, (counts.get(part) ?? 0) + count);
  }
  return Array.from(counts, ([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
}

type Set = Pick<SetRef, 'source' | 'name'>;

/** Results keep the codes of the version in which they were given: what it does not know is looked up in the others. */
export function labelsOf(model: ProgramModel, others: readonly ProgramModel[], set: Set): Labels {
  const own = readLabels(model, set);
  const questions = new Map(own.questions);
  const choices = new Map(Array.from(own.choices, ([name, pairs]) => [name, new Map(pairs)]));
  for (const other of others.map((each) => readLabels(each, set))) {
    for (const [name, label] of other.questions) if (!questions.has(name)) questions.set(name, label);
    for (const [name, pairs] of other.choices) {
      const known = choices.get(name) ?? new Map<string, string>();
      for (const [code, label] of pairs) if (!known.has(code)) known.set(code, t('results.notOffered', { label }));
      choices.set(name, known);
    }
  }
  return { questions, choices };
}

/** The fields of records have the labels of the questions whose answers they keep. */
function readLabels(model: ProgramModel, { source, name }: Set): Labels {
  if (source === 'messages') return noLabels;
  if (source === 'forms') {
    const forms = Object.entries(model.files).filter(([path]) => /^forms\/.*\.xml$/.test(path));
    return forms.map(([, xml]) => readForm(xml)).find((form) => form.id === name) ?? noLabels;
  }
  const states = [...model.states.values()].map(({ raw }) => raw);
  const asked = new Map(states.flatMap((raw) => (typeof raw.save === 'string' ? [[raw.save, raw] as const] : [])));
  const questions = new Map<string, string>();
  const choices = new Map<string, Map<string, string>>();
  for (const { store, fields } of states) {
    if (store !== name) continue;
    for (const [field, answer] of Object.entries(toRecord(fields))) {
      const raw = asked.get(String(answer));
      if (!raw) continue;
      questions.set(field, sayIn(model, raw.text).split('\n')[0] ?? field);
      const options = Array.isArray(raw.options) ? raw.options.map(toRecord) : [];
      const pairs = options.flatMap(({ value, text }) =>
        value === undefined ? [] : [[String(value), sayIn(model, text)] as const],
      );
      if (pairs.length > 0) choices.set(field, new Map(pairs));
    }
  }
  return { questions, choices };
}

interface FormLabels extends Labels {
  id: string;
  root: string;
}

const read = new Map<string, FormLabels>();

/** By the paths of the questions, in the order in which they are asked. */
export function readForm(xml: string): FormLabels {
  const key = `${intlLocale()} ${xml}`;
  const form = read.get(key) ?? parseForm(xml);
  if (read.size > 20) read.clear();
  read.set(key, form);
  return form;
}

function parseForm(xml: string): FormLabels {
  const document = new DOMParser().parseFromString(xml, 'text/xml');
  const all = (name: string, within: Document | Element = document) => [...within.getElementsByTagName(name)];
  const data = all('instance')[0]?.firstElementChild;
  const language = new Intl.Locale(intlLocale()).language;
  const translations = all('translation');
  const translation =
    translations.find((each) => isLanguage(each.getAttribute('lang') ?? '', language)) ??
    translations.find((each) => each.hasAttribute('default')) ??
    translations[0];
  const texts = new Map(
    translation ? all('text', translation).map((text) => [text.id, plain(all('value', text)[0])] as const) : [],
  );
  const labelOf = (parent: Element) => {
    const label = [...parent.children].find(({ localName }) => localName === 'label');
    const [, id] = /^jr:itext\('(.*)'\)$/.exec(label?.getAttribute('ref') ?? '') ?? [];
    return (id === undefined ? plain(label) : texts.get(id)) ?? '';
  };
  const root = `/${data?.localName}/`;
  const kinds = ['input', 'select1', 'select', 'range', 'trigger', 'upload', 'odk:rank'];
  const controls = kinds.flatMap((name) => all(name));
  const questions = new Map<string, string>();
  const choices = new Map<string, Map<string, string>>();
  for (const control of controls.sort(inDocument)) {
    const path = (control.getAttribute('ref') ?? '').replace(root, '');
    questions.set(path, labelOf(control) || path);
    const options = [...all('item', control), ...listItems(control)];
    const pairs = options.map((item) => [codeOf(item), labelOf(item) || namedText(item) || codeOf(item)] as const);
    if (pairs.length > 0) choices.set(path, new Map(pairs));
  }
  return { id: data?.getAttribute('id') ?? '', root, questions, choices };

  function listItems(control: Element): Element[] {
    const [, id] =
      /^(?:randomize\()?instance\('([^']+)'\)/.exec(all('itemset', control)[0]?.getAttribute('nodeset') ?? '') ?? [];
    const list = id === undefined ? undefined : all('instance').find((instance) => instance.id === id);
    return list ? all('item', list) : [];
  }
  function namedText(item: Element): string | undefined {
    return texts.get(all('itextId', item)[0]?.textContent ?? '');
  }
  function codeOf(item: Element): string {
    return plain(all('value', item)[0] ?? all('name', item)[0]);
  }
}

const inDocument = (one: Element, other: Element) =>
  one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;

const plain = (element: Element | undefined) => (element?.textContent ?? '').trim().replace(/\s+/g, ' ');

/** `French (fr)` and `fr` are the language fr. */
function isLanguage(name: string, language: string): boolean {
  return (/\(([\w-]+)\)\s*$/.exec(name)?.[1] ?? name).split('-', 1)[0]?.toLowerCase() === language;
}
