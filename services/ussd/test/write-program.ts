import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { bundledProgram } from '../src/catalog/bundled-program.ts';

/** A program as a folder, by the paths of its files. */
export async function writeProgram(files: Record<string, string>) {
  const dir = await createTempDir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir.path, path)), { recursive: true });
    writeFileSync(join(dir.path, path), text);
  }
  return dir;
}

/** Copies the bundled program, as people do who change it. */
export function copyBundled(folder: string, name: string): void {
  cpSync(bundledProgram, folder, { recursive: true });
  const file = join(folder, 'program.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('name: palaver', `name: ${name}`));
}

/** A program of everything that the bundled one has, for all codes that no other program names. */
export const everythingElse = 'name: everything\nextends: palaver\n';
