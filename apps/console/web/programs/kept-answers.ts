import { setField, setRecords } from './edit-program.ts';
import type { ProgramFiles } from './program-api.ts';
import { orderStates, type ProgramModel, type ProgramState, readProgram, toRecord } from './read-program.ts';
import { columnType } from './tables.ts';

const fieldTypes: unknown[] = ['text', 'integer', 'decimal', 'date', 'phone', 'boolean'];

function typeOf({ files }: ProgramModel, { kind, raw }: ProgramState, answer: string): unknown {
  if (kind !== 'menu') return fieldTypes.includes(raw.type) ? raw.type : 'text';
  const { csv, json, save } = toRecord(raw.from);
  const path = String(csv ?? json);
  return columnType(path, files[path] ?? '', String(toRecord(save)[answer]));
}

function recordOf({ raw }: ProgramState): string | undefined {
  const record = raw.store ?? raw.update;
  return record === undefined ? undefined : String(record);
}

export function answersOf({ kind, raw }: ProgramState): string[] {
  const from = toRecord(raw.from);
  if (kind === 'menu') return from.csv === undefined && from.json === undefined ? [] : Object.keys(toRecord(from.save));
  return kind === 'prompt' && raw.save !== undefined && raw.secret !== true ? [String(raw.save)] : [];
}

/** The fields of records that hold an answer of this state. What was found in records may have the name of an answer. */
function listFields({ states }: ProgramModel, question: ProgramState, answer: string) {
  if (!answersOf(question).includes(answer)) return [];
  return [...states.values()].flatMap((state) => {
    const record = recordOf(state);
    if (record === undefined) return [];
    const own = Object.entries(toRecord(state.raw.fields));
    return own.filter(([, value]) => value === answer).map(([field]) => ({ state, field, record }));
  });
}

export function addRecordField(files: ProgramFiles, model: ProgramModel, state: ProgramState, field: string) {
  const changed = setField(files, state, ['fields', field], field);
  const record = recordOf(state) ?? field;
  if (Object.hasOwn(model.records[record] ?? {}, field)) return changed;
  const question = [...model.states.values()].find((other) => answersOf(other).includes(field));
  return setRecords(changed, [record, field], question ? typeOf(model, question, field) : 'text');
}

/** The actions that keep a record and that callers come to first after this state. */
function storesAfter({ start, states }: ProgramModel, from: ProgramState): ProgramState[] {
  const reached = new Set<ProgramState>();
  const open = [from];
  // The list grows while it is read.
  for (const { links } of open)
    for (const { to } of links) {
      const next = states.get(to);
      if (!next || to === start || reached.has(next)) continue;
      reached.add(next);
      if (recordOf(next) === undefined) open.push(next);
    }
  return [...reached].filter((state) => recordOf(state) !== undefined);
}

const isKeepable = (state: ProgramState) => answersOf(state).length > 0;

/** A question is kept by the actions that come after it; an action that keeps a record takes the answers before it. */
export function keepAnswers(files: ProgramFiles, name: string): ProgramFiles {
  const model = readProgram(files);
  const state = model.states.get(name);
  if (!state) return files;
  const add = (changed: ProgramFiles, action: ProgramState, question: ProgramState) =>
    answersOf(question).reduce((next, answer) => addRecordField(next, readProgram(next), action, answer), changed);
  if (isKeepable(state))
    return storesAfter(model, state).reduce((changed, action) => add(changed, action, state), files);
  if (state.raw.store === undefined) return files;
  const questions = orderStates(model).flatMap((each) => model.states.get(each) ?? []);
  return questions
    .filter((question) => isKeepable(question) && storesAfter(model, question).includes(state))
    .reduce((changed, question) => add(changed, state, question), files);
}

export interface LostAnswer {
  question: string;
  /** The record that is stored after it. */
  record: string | undefined;
}

/** Questions whose answers no record has and nothing else uses. */
export function findLostAnswers(model: ProgramModel): LostAnswer[] {
  const states = [...model.states.values()];
  const texts = Array.from(model.texts.values(), (own) => [...own.values()]).flat();
  return states.filter(isKeepable).flatMap((question) => {
    const { name } = question;
    const answers = answersOf(question).join('|');
    const answer = new RegExp(String.raw`\b(?:${answers})\b`);
    if (states.some((other) => other.name !== name && toExpressions(other.raw).some((text) => answer.test(text))))
      return [];
    const [action] = storesAfter(model, question);
    const shown = new RegExp(String.raw`\{(?:${answers})`);
    const isShown = texts.some((text) => shown.test(text));
    return action || !isShown ? [{ question: name, record: action && recordOf(action) }] : [];
  });
}

const names = new Set(
  'kind text hint label type to else flow do outcomes save store update find total form'.split(' '),
);

function toExpressions(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : [String(value)];
  return Object.entries(value).flatMap(([name, part]) => (names.has(name) ? [] : toExpressions(part)));
}

export function renameAnswer(
  files: ProgramFiles,
  state: ProgramState,
  [before, after]: readonly [before: string, after: string],
): ProgramFiles {
  const saved = Object.entries(toRecord(toRecord(state.raw.from).save));
  const columns = saved.map(([name, column]) => [name === before ? after : name, column]);
  const renamed =
    state.kind === 'menu'
      ? setField(files, state, ['from', 'save'], Object.fromEntries(columns))
      : setField(files, state, ['save'], after);
  return listFields(readProgram(files), state, before).reduce(
    (changed, { state: action, field }) => setField(changed, action, ['fields', field], after),
    renamed,
  );
}

export function retypeAnswer(files: ProgramFiles, name: string, answer: string): ProgramFiles {
  const model = readProgram(files);
  const question = model.states.get(name);
  if (!question) return files;
  const type = typeOf(model, question, answer);
  return listFields(model, question, answer).reduce(
    (changed, { record, field }) => setRecords(changed, [record, field], type),
    files,
  );
}

/** What was kept before stays declared, so that it can be read. */
export function dropAnswers(files: ProgramFiles, state: ProgramState, answers = answersOf(state)): ProgramFiles {
  const model = readProgram(files);
  const others = [...model.states.values()].filter(({ name }) => name !== state.name).flatMap(answersOf);
  return answers
    .filter((answer) => !others.includes(answer))
    .flatMap((answer) => listFields(model, state, answer))
    .reduce((changed, { state: action, field }) => setField(changed, action, ['fields', field], undefined), files);
}
