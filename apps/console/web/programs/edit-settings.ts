import { changeFile, setRecords } from './edit-program.ts';
import type { ProgramFiles } from './program-api.ts';
import { type ProgramModel, readProgram } from './read-program.ts';

/** Sets a field of program.yaml; `undefined` or an empty list removes it. */
export function setHeader(files: ProgramFiles, field: string, value: unknown): ProgramFiles {
  return changeFile(files, 'program.yaml', (document) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) document.delete(field);
    else document.set(field, document.createNode(value, { flow: true }));
  });
}

export function addLanguage(files: ProgramFiles, model: ProgramModel, language: string): ProgramFiles {
  return setHeader(files, 'languages', [...model.languages, language]);
}

export function removeLanguage(files: ProgramFiles, model: ProgramModel, language: string): ProgramFiles {
  const { [`locales/${language}.yaml`]: _, ...rest } = files;
  return setHeader(
    rest,
    'languages',
    model.languages.filter((each) => each !== language),
  );
}

/** Declares a kind of records, or a field of one with its type. */
export function setRecord(files: ProgramFiles, path: readonly string[], type?: string): ProgramFiles {
  return setRecords(files, path, type ?? {});
}

export function removeRecord(files: ProgramFiles, path: readonly string[]): ProgramFiles {
  const removed = changeFile(files, 'program.yaml', (document) => document.deleteIn(['records', ...path]));
  return Object.keys(readProgram(removed).records).length > 0 ? removed : setHeader(removed, 'records', undefined);
}
