import { checkForms, type Forms } from '@palaver/forms/internal';
import { checkProgram, type MenuCheck } from '@palaver/program/internal';
import { loadRegistry, toMenuSources } from '../catalog/bundled-menus.ts';
import { findPrograms, readMenuSource, readProgramSource, SourceFault } from '../catalog/read-source.ts';

export interface ProgramFiles {
  /** A program's folder, or a folder of several. */
  folder: string;
  /** A module of actions beside the default service's. */
  actions?: string | undefined;
}

export interface LoadedProgram {
  path: string;
  check: MenuCheck;
}

/** Every program of a folder, checked with its forms. A folder that cannot be read is a fault like any other. */
export async function* loadPrograms(
  { folder, actions }: ProgramFiles,
  forms: Pick<Forms, 'inspect'>,
): AsyncGenerator<LoadedProgram> {
  const registry = await loadRegistry(actions);
  const base = await readMenuSource('palaver', toMenuSources({}));
  try {
    for (const path of await findPrograms(folder)) {
      const source = await readProgramSource(path);
      yield { path, check: await checkForms(checkProgram(source, registry, base), source, forms) };
    }
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    const fault = { file: error.path, line: 1, message: error.message };
    yield { path: error.path, check: { ok: false, faults: [fault] } };
  }
}
