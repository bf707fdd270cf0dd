import { addState, connectStates, setField } from './edit-program.ts';
import { toStateName } from './names.ts';
import { type ProgramFiles, programApi } from './program-api.ts';
import { readProgram } from './read-program.ts';

/** What the service takes of one file. */
const maxBytes = 2_000_000;

export type AddedFile = { path: string; text: string } | { refused: 'programs.fileTooLarge' | 'programs.fileUnknown' };

/** Reads a file, and says where a program has files of its kind. XLSForms are converted by the service. */
export async function readAddedFile(program: string, files: ProgramFiles, file: File): Promise<AddedFile> {
  if (file.size > maxBytes) return { refused: 'programs.fileTooLarge' };
  const [, stem = '', ending = ''] = /^(.+)\.(xml|xlsx|csv|json|geojson)$/i.exec(file.name) ?? [];
  if (ending === '') return { refused: 'programs.fileUnknown' };
  const bare = stem.replace(/[^\w.-]/g, '-').slice(0, 60);
  const isWorkbook = ending.toLowerCase() === 'xlsx';
  const name = `${bare}.${isWorkbook ? 'xml' : ending.toLowerCase()}`;
  const text = isWorkbook ? await programApi.convertForm(program, `${bare}.xlsx`, file) : await file.text();
  return { path: `${toFolder(files, name)}/${name}`, text };
}

/** Tables are data of the program unless a form names them. */
function toFolder(files: ProgramFiles, name: string): 'forms' | 'data' {
  if (/\.(xml|geojson)$/.test(name)) return 'forms';
  const isNamed = Object.entries(files).some(([path, text]) => path.startsWith('forms/') && text.includes(`/${name}"`));
  return isNamed ? 'forms' : 'data';
}

/** The files with another one. A form that no state shows gets a state, to which the start leads. */
export function withFile(files: ProgramFiles, path: string, text: string): ProgramFiles {
  const added = { ...files, [path]: text };
  const model = readProgram(added);
  const [, stem] = /^forms\/(.+)\.xml$/.exec(path) ?? [];
  if (stem === undefined || [...model.states.values()].some(({ raw }) => raw.form === path)) return added;
  const name = toStateName(stem.replaceAll('-', ' '), new Set(model.states.keys()), 'form');
  const made = addState(added, model, { name, kind: 'form', file: 'program.yaml' });
  const state = readProgram(made).states.get(name);
  const whole = state ? setField(made, state, ['form'], path) : made;
  return model.start ? connectStates(whole, readProgram(whole), model.start, name) : whole;
}
