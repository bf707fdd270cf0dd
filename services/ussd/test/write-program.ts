import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';

/** A program as a folder, by the paths of its files. */
export async function writeProgram(files: Record<string, string>) {
  const dir = await createTempDir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir.path, path)), { recursive: true });
    writeFileSync(join(dir.path, path), text);
  }
  return dir;
}
