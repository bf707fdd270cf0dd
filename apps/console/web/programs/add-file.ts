import { type ProgramFiles, programApi } from './program-api.ts';

/** What the service takes of one file. */
const maxBytes = 2_000_000;

type AddedFile = { path: string; text: string } | { refused: 'programs.fileTooLarge' | 'programs.fileUnknown' };

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
