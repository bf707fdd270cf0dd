import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { convertXlsForm, XlsFormFault } from '@palaver/forms/internal';
import { type ProgramSource, programFile, type SourceFile } from '@palaver/program/internal';
import { programLimits, sizeFault } from './program-files.ts';

export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** The folders of a program in addition to its YAML files. Recorded dialogues in `flows` are not served. */
const parts = { locales: /\.ya?ml$/, data: /\.(csv|json)$/, forms: /\.(xml|xlsx|csv|geojson)$/ };
const yaml = /\.ya?ml$/;

/** The folder itself when it has a `program.yaml`, else each of its folders that has one. */
export async function findPrograms(path: string): Promise<string[]> {
  if (!(await statOf(path)).isDirectory()) throw new SourceFault(path, 'this is not a folder');
  if (await isFile(join(path, programFile))) return [path];
  const folders = (await readdir(path).catch(refuse(path))).sort().map((name) => join(path, name));
  const programs = await Promise.all(
    folders.map(async (folder) => ((await isFile(join(folder, programFile))) ? [folder] : [])),
  );
  if (programs.flat().length === 0) throw new SourceFault(path, `there is no ${programFile} here or in a folder of it`);
  return programs.flat();
}

export async function readProgramSource(folder: string): Promise<ProgramSource> {
  const own = await readFolder(folder, yaml);
  const inFolders = await Promise.all(
    Object.entries(parts).map(async ([part, pattern]) => {
      const files = await readFolder(join(folder, part), pattern).catch((error: unknown) => {
        if (error instanceof SourceFault && error.message === missing) return [];
        throw error;
      });
      return files.map((file) => ({ ...file, path: `${part}/${file.path}` }));
    }),
  );
  const files = [...own, ...inFolders.flat()];
  const large = sizeFault(files.map(({ file, text }) => ({ path: file, bytes: Buffer.byteLength(text) })));
  if (large) throw new SourceFault(large.path ?? folder, large.message);
  return { name: basename(folder), files };
}

const missing = 'there is no such file or folder';

async function readFolder(path: string, pattern: RegExp): Promise<SourceFile[]> {
  if (!(await statOf(path)).isDirectory()) throw new SourceFault(path, 'this is not a folder');
  const names = (await readdir(path).catch(refuse(path))).filter((name) => pattern.test(name)).sort();
  return Promise.all(names.map((name) => readOne(join(path, name), name)));
}

async function readOne(file: string, path: string): Promise<SourceFile> {
  const large = sizeFault([{ path: file, bytes: (await statOf(file)).size }]);
  if (large) throw new SourceFault(file, large.message);
  if (!path.endsWith('.xlsx')) return { file, path, text: await readFile(file, 'utf8').catch(refuse(file)) };
  // A version keeps what it was converted to: other instances need no converter.
  const workbook = await readFile(file).catch(refuse(file));
  const text = await convertXlsForm(file, workbook, programLimits.fileBytes).catch((error: unknown) => {
    if (!(error instanceof XlsFormFault)) throw error;
    throw new SourceFault(file, error.message);
  });
  return { file, path, text };
}

const statOf = (path: string) => stat(path).catch(refuse(path));

const reasons: Record<string, string> = {
  ENOENT: missing,
  EACCES: 'there is no permission to read it',
  EPERM: 'there is no permission to read it',
};

function refuse(path: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    throw new SourceFault(path, reasons[error.code ?? ''] ?? error.message);
  };
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}
