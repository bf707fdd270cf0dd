import { setField, setRecords } from './edit-program.ts';
import type { ProgramFiles } from './program-api.ts';
import { orderStates, type ProgramModel, type ProgramState, readProgram, toRecord } from './read-program.ts';

const fieldTypes: unknown[] = ['text', 'integer', 'decimal', 'date', 'phone'];
const toFieldType = (type: unknown) => (fieldTypes.includes(type) ? type : 'text');

function recordOf({ raw }: ProgramState): string | undefined {
  const record = raw.store ?? raw.update;
  return record === undefined ? undefined : String(record);
}

/** The fields of records that hold the answer of a question. */
function listFields({ states }: ProgramModel, { kind, raw }: ProgramState) {
  if (kind !== 'prompt' || raw.save === undefined) return [];
  return [...states.values()].flatMap((state) => {
    const record = recordOf(state);
    if (record === undefined) return [];
    const own = Object.entries(toRecord(state.raw.fields));
    return own.filter(([, value]) => value === raw.save).map(([field]) => ({ state, field, record }));
  });
}

/** Declares the field with the type of the question whose answer it holds. */
export function addRecordField(files: ProgramFiles, model: ProgramModel, state: ProgramState, field: string) {
  const changed = setField(files, state, ['fields', field], field);
  const record = recordOf(state) ?? field;
  if (Object.hasOwn(model.records[record] ?? {}, field)) return changed;
  const question = [...model.states.values()].find(({ raw }) => raw.save === field)?.raw.type;
  return setRecords(changed, [record, field], toFieldType(question));
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

const isKeepable = ({ kind, raw }: ProgramState) => kind === 'prompt' && raw.save !== undefined && raw.secret !== true;

/** A question is kept by the actions that come after it; an action that keeps a record takes the answers before it. */
export function keepAnswers(files: ProgramFiles, name: string): ProgramFiles {
  const model = readProgram(files);
  const state = model.states.get(name);
  if (!state) return files;
  const add = (changed: ProgramFiles, action: ProgramState, { raw }: ProgramState) =>
    addRecordField(changed, readProgram(changed), action, String(raw.save));
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
    const { name, raw } = question;
    const answer = new RegExp(String.raw`\b${raw.save}\b`);
    if (states.some((other) => other.name !== name && toExpressions(other.raw).some((text) => answer.test(text))))
      return [];
    const [action] = storesAfter(model, question);
    const isShown = texts.some((text) => text.includes(`{${raw.save}`));
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

export function renameAnswer(files: ProgramFiles, state: ProgramState, answer: string): ProgramFiles {
  const renamed = setField(files, state, ['save'], answer);
  const fields = listFields(readProgram(files), state);
  return fields.reduce(
    (changed, { state: action, field }) => setField(changed, action, ['fields', field], answer),
    renamed,
  );
}

export function retypeAnswer(files: ProgramFiles, state: ProgramState, type: string): ProgramFiles {
  const fields = listFields(readProgram(files), state);
  return fields.reduce((changed, { record, field }) => setRecords(changed, [record, field], toFieldType(type)), files);
}

/** What was kept before stays declared, so that it can be read. */
export function dropAnswer(files: ProgramFiles, state: ProgramState): ProgramFiles {
  const model = readProgram(files);
  const isAskedElsewhere = [...model.states.values()].some(
    ({ name, raw }) => name !== state.name && raw.save === state.raw.save,
  );
  const fields = isAskedElsewhere ? [] : listFields(model, state);
  return fields.reduce(
    (changed, { state: action, field }) => setField(changed, action, ['fields', field], undefined),
    files,
  );
}
