import { type Document, isMap, isScalar, parseDocument } from 'yaml';
import { type ActionKeyword, recordKeywords, toActionFields } from './new-action.ts';
import type { ProgramFiles } from './program-api.ts';
import { changeText, type Path, type ProgramModel, type ProgramState, readProgram } from './read-program.ts';

/** Replaces the files of the draft; `false` when nothing changed, or nothing could be. */
export type ChangeFiles = (change: () => ProgramFiles) => boolean;

function changeFile(files: ProgramFiles, path: string, change: (document: Document) => void): ProgramFiles {
  return { ...files, [path]: changeText(path, files[path] ?? '', change) };
}

/** Sets one field of a state; `undefined` removes it. */
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

/** A text under a new key in every language. */
function addText(files: ProgramFiles, model: ProgramModel, key: string, text: string): ProgramFiles {
  return model.languages.reduce((changed, language) => setText(changed, language, key, text), files);
}

export const newKinds = ['menu', 'prompt', 'page', 'end', 'branch', 'set', 'action', 'form'] as const;
export type NewKind = (typeof newKinds)[number];

export interface NewState {
  name: string;
  kind: NewKind;
  file: string;
  /** What a new action does; an SMS when not given. */
  keyword?: ActionKeyword;
}

/** A state with a text in every language; a question and a menu lead to the start until they are connected. */
export function addState(files: ProgramFiles, model: ProgramModel, state: NewState): ProgramFiles {
  const { name, kind, file, keyword = 'sms' } = state;
  const key = `${name}.text`;
  const to = model.start ?? name;
  const [record] = Object.keys(model.records);
  const fields = {
    menu: { options: [{ text: `${name}.option1`, to }] },
    prompt: { type: 'text', save: name, to },
    page: {},
    end: {},
    branch: { when: [{ that: 'true', to }], else: to },
    set: { values: {}, to },
    action: toActionFields(keyword, { name, to, record: record ?? name }),
    form: { form: Object.keys(files).find((path) => /^forms\/.+\.xml$/.test(path)) ?? 'forms/form.xml', to },
  };
  const isScreen = ['menu', 'prompt', 'page', 'end'].includes(kind);
  const hasText = isScreen || (kind === 'action' && keyword === 'sms');
  const isFirstRecord = kind === 'action' && recordKeywords.includes(keyword) && record === undefined;
  const texts = { ...(hasText && { [key]: name }), ...(kind === 'menu' && { [`${name}.option1`]: 'Next' }) };
  const withTexts = Object.entries(texts).reduce((changed, [at, text]) => addText(changed, model, at, text), files);
  const declared = isFirstRecord ? setRecords(withTexts, [name], {}) : withTexts;
  return changeFile(declared, file, (document) =>
    document.setIn(['states', name], document.createNode({ kind, ...(isScreen && { text: key }), ...fields[kind] })),
  );
}

function setRecords(files: ProgramFiles, path: string[], value: unknown): ProgramFiles {
  return changeFile(files, 'program.yaml', (document) =>
    document.setIn(['records', ...path], document.createNode(value)),
  );
}

const fieldTypes: unknown[] = ['text', 'integer', 'decimal', 'date', 'phone'];

/** Adds a field to an action that keeps records, and declares it with the type of the question whose answer it holds. */
export function addRecordField(files: ProgramFiles, model: ProgramModel, state: ProgramState, field: string) {
  const changed = setField(files, state, ['fields', field], field);
  const record = String(state.raw.store ?? state.raw.update);
  if (Object.hasOwn(model.records[record] ?? {}, field)) return changed;
  const question = [...model.states.values()].find(({ raw }) => raw.save === field)?.raw.type;
  return setRecords(changed, [record, field], fieldTypes.includes(question) ? question : 'text');
}

/** Adds a choice to a menu or page. */
export function addOption(files: ProgramFiles, model: ProgramModel, state: ProgramState, to: string): ProgramFiles {
  const keys = new Set(Array.from(model.texts.values(), (texts) => [...texts.keys()]).flat());
  let number = 1;
  while (keys.has(`${state.name}.option${number}`)) number += 1;
  const key = `${state.name}.option${number}`;
  return changeFile(addText(files, model, key, 'New choice'), state.file, (document) => {
    const path = ['states', state.name, 'options'];
    if (document.hasIn(path)) document.addIn(path, document.createNode({ text: key, to }));
    else document.setIn(path, document.createNode([{ text: key, to }]));
  });
}

/** Lets one state lead to another, by what its kind has for that; the same files where it has nothing. */
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

/** The outcomes that lead back to the start are not connected yet; where none is left, all of them follow. */
function setOutcomes(files: ProgramFiles, state: ProgramState, to: string): ProgramFiles {
  const { start } = readProgram(files);
  const own = state.links.filter(({ path }) => path[0] === 'outcomes');
  const open = own.filter((link) => link.to === start || link.to === state.name);
  return (open.length > 0 ? open : own).reduce((changed, { path }) => setField(changed, state, path, to), files);
}

/** Renames a state, and everything that leads to it. */
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
  return [...touched].reduce((changed, path) => renameIn(changed, { path, model, from, to }), files);
}

interface Renaming {
  path: string;
  model: ProgramModel;
  from: string;
  to: string;
}

function renameIn(files: ProgramFiles, { path, model, from, to }: Renaming): ProgramFiles {
  const links = Array.from(model.states.values())
    .filter(({ file }) => file === path)
    .flatMap(({ name, links }) =>
      links.filter((link) => link.to === from).map((link) => ['states', name, ...link.path]),
    );
  const before = parseDocument(files[path] ?? '', { uniqueKeys: false });
  const heads = ['start', 'exit', 'login'].filter((head) => before.get(head) === from);
  if (links.length === 0 && heads.length === 0 && !before.hasIn(['states', from])) return files;
  return changeFile(files, path, (document) => {
    const states = document.get('states');
    const pair = isMap(states) ? states.items.find(({ key }) => isScalar(key) && key.value === from) : undefined;
    for (const link of links) document.setIn(link, to);
    for (const head of heads) document.set(head, to);
    if (pair && isScalar(pair.key)) pair.key.value = to;
  });
}

export function removeState(files: ProgramFiles, { file, name }: ProgramState): ProgramFiles {
  return changeFile(files, file, (document) => document.deleteIn(['states', name]));
}

/** The files of a program with one screen and an end. */
export function newProgram(name: string, code: string): ProgramFiles {
  return {
    'program.yaml': `name: ${name}
codes: ["${code}"]
extends: palaver
languages: [en]
start: home

states:
  home:
    kind: menu
    text: home.text
    options:
      - { text: home.option1, to: about }

  about:
    kind: page
    text: about.text
`,
    'locales/en.yaml': `home: { text: Welcome, option1: About }\nabout: { text: What this service is for. }\n`,
  };
}
