import { setField, setRecords } from './edit-program.ts';
import type { ProgramFiles } from './program-api.ts';
import { type ProgramModel, type ProgramState, readProgram, toRecord } from './read-program.ts';

const fieldTypes: unknown[] = ['text', 'integer', 'decimal', 'date', 'phone'];
const toFieldType = (type: unknown) => (fieldTypes.includes(type) ? type : 'text');

/** The fields of records that hold the answer of a question. */
function listFields({ states }: ProgramModel, { kind, raw }: ProgramState) {
  if (kind !== 'prompt' || raw.save === undefined) return [];
  return [...states.values()].flatMap((state) => {
    const record = state.raw.store ?? state.raw.update;
    const own = Object.entries(toRecord(record === undefined ? undefined : state.raw.fields));
    return own.filter(([, value]) => value === raw.save).map(([field]) => ({ state, field, record: String(record) }));
  });
}

/** Declares the field with the type of the question whose answer it holds. */
export function addRecordField(files: ProgramFiles, model: ProgramModel, state: ProgramState, field: string) {
  const changed = setField(files, state, ['fields', field], field);
  const record = String(state.raw.store ?? state.raw.update);
  if (Object.hasOwn(model.records[record] ?? {}, field)) return changed;
  const question = [...model.states.values()].find(({ raw }) => raw.save === field)?.raw.type;
  return setRecords(changed, [record, field], toFieldType(question));
}

/** A question is kept where the one before it is; an action that keeps a record takes the answers before it. */
export function keepAnswers(files: ProgramFiles, name: string, before: ProgramState | undefined): ProgramFiles {
  const model = readProgram(files);
  const state = model.states.get(name);
  if (!state || !before) return files;
  const add = (changed: ProgramFiles, action: ProgramState, answer: string) =>
    addRecordField(changed, readProgram(changed), action, answer);
  if (state.kind === 'prompt') {
    const fields = listFields(model, before);
    return fields.reduce((changed, field) => add(changed, field.state, String(state.raw.save)), files);
  }
  const answers = state.raw.store === undefined ? [] : listAnswers(model, before);
  return answers.reduce((changed, answer) => add(changed, state, answer), files);
}

/** The answers of the questions that come one after another up to this one. */
function listAnswers({ states }: ProgramModel, last: ProgramState): string[] {
  const all = [...states.values()].filter(({ kind }) => kind === 'prompt');
  const questions: ProgramState[] = last.kind === 'prompt' ? [last] : [];
  // The list grows while it is read.
  for (const { name } of questions) {
    const before = all.find(({ links }) => links.some(({ to }) => to === name));
    if (before && !questions.includes(before)) questions.push(before);
  }
  return questions.reverse().flatMap(({ raw }) => (raw.secret === true || !raw.save ? [] : String(raw.save)));
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
