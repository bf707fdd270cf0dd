import { type Document, isMap, isScalar, parseDocument } from 'yaml';
import { type ActionKeyword, draftState, recordKeywords, type StateKind } from './keywords.ts';
import { toFree } from './names.ts';
import type { ProgramFiles } from './program-api.ts';
import {
  changeText,
  type Path,
  type ProgramModel,
  type ProgramState,
  readProgram,
  type StateLink,
  sayIn,
  toRecord,
} from './read-program.ts';

/** Returns false when nothing changed, or nothing could be changed. */
export type ChangeFiles = (change: () => ProgramFiles) => boolean;

export function changeFile(files: ProgramFiles, path: string, change: (document: Document) => void): ProgramFiles {
  return { ...files, [path]: changeText(path, files[path] ?? '', change) };
}

export function setField(files: ProgramFiles, { file, name }: ProgramState, path: Path, value: unknown): ProgramFiles {
  return changeFile(files, file, (document) => {
    const whole = ['states', name, ...path];
    if (value === undefined) document.deleteIn(whole);
    else document.setIn(whole, document.createNode(value));
  });
}

export function setText(files: ProgramFiles, language: string, key: string, text: string): ProgramFiles {
  return changeFile(files, `locales/${language}.yaml`, (document) => {
    document.setIn(document.has(key) ? [key] : key.split('.'), text);
  });
}

export function addText(files: ProgramFiles, model: ProgramModel, key: string, text: string): ProgramFiles {
  return model.languages.reduce((changed, language) => setText(changed, language, key, text), files);
}

/** A state that had this name before may still have its texts. */
export function toFreeKey({ texts }: ProgramModel, key: string): string {
  return toFree(key, new Set(Array.from(texts.values(), (own) => [...own.keys()]).flat()));
}

export interface NewState {
  name: string;
  kind: StateKind;
  file: string;
  keyword?: ActionKeyword;
  text?: string;
  /** Where it leads until it is connected; the start when not given. */
  to?: string;
}

export function addState(files: ProgramFiles, model: ProgramModel, state: NewState): ProgramFiles {
  const { name, kind, file, keyword = 'sms', text = name, to = model.start ?? name } = state;
  const [record] = Object.keys(model.records);
  const form = Object.keys(files).find((path) => /^forms\/.+\.xml$/.test(path)) ?? 'forms/form.xml';
  const chosen = { name, text, to, label: toLabel(model, to), record: record ?? name, form };
  const { fields, texts } = draftState({ kind, keyword, chosen, toKey: (key) => toFreeKey(model, key) });
  const isFirstRecord = kind === 'action' && recordKeywords.includes(keyword) && record === undefined;
  const withTexts = Object.entries(texts).reduce((changed, [at, text]) => addText(changed, model, at, text), files);
  const declared = isFirstRecord ? setRecords(withTexts, [name], {}) : withTexts;
  return changeFile(declared, file, (document) => document.setIn(['states', name], document.createNode(fields)));
}

export function setRecords(files: ProgramFiles, path: readonly string[], value: unknown): ProgramFiles {
  return changeFile(files, 'program.yaml', (document) =>
    document.setIn(['records', ...path], document.createNode(value)),
  );
}

const longestLabel = 30;
const newChoice = 'New choice';

function toLabel(model: ProgramModel, to: string): string {
  const key = model.states.get(to)?.raw.text;
  const text = sayIn(model, key);
  return text === '' || text === key || text.length > longestLabel ? newChoice : text;
}

export function addOption(files: ProgramFiles, model: ProgramModel, state: ProgramState, to?: string): ProgramFiles {
  const options = Array.isArray(state.raw.options) ? state.raw.options.map(toRecord) : [];
  const text = to === undefined ? newChoice : toLabel(model, to);
  const key = toFreeKey(model, `${state.name}.option`);
  const value = toFree('choice', new Set(options.map((option) => String(option.value))));
  const option = { text: key, ...(state.kind === 'prompt' ? { value } : { to: to ?? model.start ?? state.name }) };
  return changeFile(addText(files, model, key, text), state.file, (document) => {
    const path = ['states', state.name, 'options'];
    if (document.hasIn(path)) document.addIn(path, document.createNode(option));
    else document.setIn(path, document.createNode([option]));
  });
}

export function connectStates(files: ProgramFiles, model: ProgramModel, from: string, to: string): ProgramFiles {
  const state = model.states.get(from);
  if (!state || (!model.states.has(to) && !model.outside.includes(to))) return files;
  switch (state.kind) {
    case 'menu':
    case 'page':
      return state.raw.from === undefined ? addOption(files, model, state, to) : setField(files, state, ['to'], to);
    case 'branch': {
      const conditions = Array.isArray(state.raw.when) ? state.raw.when : [];
      return setField(files, state, ['when'], [...conditions, { that: 'true', to }]);
    }
    case 'action':
      return setOutcomes(files, state, to);
    case 'end':
    case 'return':
      return files;
    default:
      return setField(files, state, ['to'], to);
  }
}

/** Outcomes that lead back to the start are not connected yet; where none is left, all of them follow. */
function setOutcomes(files: ProgramFiles, state: ProgramState, to: string): ProgramFiles {
  const { start } = readProgram(files);
  const own = state.links.filter(({ path }) => path[0] === 'outcomes');
  const open = own.filter((link) => link.to === start || link.to === state.name);
  return (open.length > 0 ? open : own).reduce((changed, { path }) => setField(changed, state, path, to), files);
}

export function renameState(files: ProgramFiles, from: string, to: string): ProgramFiles {
  const model = readProgram(files);
  const own = model.states.get(from);
  if (!own || from === to || model.states.has(to)) return files;
  const touched = new Set([
    own.file,
    ...Array.from(model.states.values())
      .filter(({ links }) => links.some((link) => link.to === from))
      .map(({ file }) => file),
    ...Object.keys(files).filter((path) => /^[^/]+\.ya?ml$/.test(path)),
  ]);
  return [...touched].reduce(renameIn, files);

  function renameIn(changed: ProgramFiles, path: string): ProgramFiles {
    const links = Array.from(model.states.values())
      .filter(({ file }) => file === path)
      .flatMap(({ name, links }) =>
        links.filter((link) => link.to === from).map((link) => ['states', name, ...link.path]),
      );
    const before = parseDocument(changed[path] ?? '', { uniqueKeys: false });
    const heads = ['start', 'exit', 'login'].filter((head) => before.get(head) === from);
    if (links.length === 0 && heads.length === 0 && !before.hasIn(['states', from])) return changed;
    return changeFile(changed, path, (document) => {
      const states = document.get('states');
      // The key of a state that was added since the file was parsed is a plain text.
      const named = (key: unknown) => (isScalar(key) ? key.value : key) === from;
      const pair = isMap(states) ? states.items.find(({ key }) => named(key)) : undefined;
      for (const link of links) document.setIn(link, to);
      for (const head of heads) document.set(head, to);
      if (isScalar(pair?.key)) pair.key.value = to;
      else if (pair) pair.key = to;
    });
  }
}

export function relink(files: ProgramFiles, from: string, to: string): ProgramFiles {
  const model = readProgram(files);
  const others = [...model.states.values()].filter(({ name }) => name !== from);
  const changed = others.reduce(
    (next, state) =>
      state.links.filter((link) => link.to === from).reduce((each, { path }) => setField(each, state, path, to), next),
    files,
  );
  return model.start === from ? changeFile(changed, 'program.yaml', (document) => document.set('start', to)) : changed;
}

/** The ways to what comes after a state; none where the caller chooses. */
export function waysOn({ kind, links }: ProgramState): StateLink[] {
  const heads = kind === 'branch' ? ['else'] : ['to', 'outcomes'];
  const own = links.filter(({ path }) => heads.includes(String(path[0])));
  return own.filter(({ to }) => to === own[0]?.to);
}

export function dropTexts(files: ProgramFiles, before: ProgramModel): ProgramFiles {
  const used = keysIn(readProgram(files));
  const unused = [...keysIn(before)].filter((key) => !used.has(key));
  return before.languages.reduce((changed, language) => {
    const keys = unused.filter((key) => before.texts.get(language)?.has(key));
    if (keys.length === 0) return changed;
    return changeFile(changed, `locales/${language}.yaml`, (document) => {
      for (const key of keys) {
        const path = document.has(key) ? [key] : key.split('.');
        document.deleteIn(path);
        const parent = path.length > 1 ? document.getIn(path.slice(0, -1)) : undefined;
        if (isMap(parent) && parent.items.length === 0) document.deleteIn(path.slice(0, -1));
      }
    });
  }, files);
}

function keysIn({ states, texts }: ProgramModel): Set<string> {
  const keys = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === 'string') {
      for (const known of texts.values()) if (known.has(value)) keys.add(value);
    } else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
  };
  for (const { raw } of states.values()) collect(raw);
  return keys;
}

export function setHeader(files: ProgramFiles, field: string, value: unknown): ProgramFiles {
  return changeFile(files, 'program.yaml', (document) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) document.delete(field);
    else document.set(field, document.createNode(value, { flow: true }));
  });
}

export function setIdentity(
  files: ProgramFiles,
  { name, title, codes }: Pick<ProgramModel, 'name' | 'title' | 'codes'>,
): ProgramFiles {
  const fields = { name, title, codes, keywords: undefined };
  return Object.entries(fields).reduce((changed, [field, value]) => setHeader(changed, field, value), files);
}

export function addLanguage(files: ProgramFiles, model: ProgramModel, language: string): ProgramFiles {
  return setHeader(files, 'languages', [...model.languages, language]);
}

export function removeLanguage(files: ProgramFiles, model: ProgramModel, language: string): ProgramFiles {
  const { [`locales/${language}.yaml`]: _, ...rest } = files;
  const left = model.languages.filter((each) => each !== language);
  return setHeader(rest, 'languages', left);
}

export function removeRecord(files: ProgramFiles, path: readonly string[]): ProgramFiles {
  const removed = changeFile(files, 'program.yaml', (document) => document.deleteIn(['records', ...path]));
  return Object.keys(readProgram(removed).records).length > 0 ? removed : setHeader(removed, 'records', undefined);
}
