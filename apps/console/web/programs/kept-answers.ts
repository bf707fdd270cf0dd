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
  const add = (changed: ProgramFiles, action: ProgramState, answer: unknown) =>
    addRecordField(changed, readProgram(changed), action, String(answer));
  if (state.kind === 'prompt')
    return listFields(model, before).reduce((changed, field) => add(changed, field.state, state.raw.save), files);
  if (state.raw.store === undefined) return files;
  return listAnswers(model, before).reduce((changed, answer) => add(changed, state, answer), files);
}

/** The answers of the questions that come one after another up to this one. */
function listAnswers({ states }: ProgramModel, last: ProgramState): unknown[] {
  const questions: ProgramState[] = [];
  for (let state: ProgramState | undefined = last; state?.kind === 'prompt' && !questions.includes(state); ) {
    questions.unshift(state);
    const { name } = state;
    state = [...states.values()].find(({ kind, links }) => kind === 'prompt' && links.some(({ to }) => to === name));
  }
  return questions.filter(({ raw }) => raw.secret !== true).flatMap(({ raw }) => raw.save ?? []);
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
