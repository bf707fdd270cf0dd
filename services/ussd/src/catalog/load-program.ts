import { createHash } from 'node:crypto';
import { checkProgram, type MenuCheck, type ProgramSource, type Registry } from '@palaver/program/internal';
import { type MenuSources, readMenuSource, SourceFault } from './read-source.ts';

/** Reads and checks the files of a menu. A file that cannot be read is a fault like any other. */
export async function loadMenu(sources: MenuSources, registry: Registry): Promise<MenuCheck> {
  try {
    const source = await readMenuSource('palaver', sources);
    return checkProgram(source, registry, source);
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    return { ok: false, faults: [{ file: error.path, line: 1, message: error.message }] };
  }
}

const versionCharacters = 12;

/** A hash of everything the program is made of, including the program it extends. */
export function toVersion(source: ProgramSource, base: ProgramSource): string {
  const hash = createHash('sha256');
  const all = source === base ? [source] : [source, base];
  for (const { files } of all) for (const { path, text } of files) hash.update(`${path}\0${text.length}\0${text}\0`);
  return hash.digest('hex').slice(0, versionCharacters);
}
