import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it. `mkdirSync` with `recursive` never returns where an existing folder answers ENOENT,
 * as `/proc` does.
 */
export function makeFolder(path: string, options: { mode?: number } = {}): void {
  const folder = resolve(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder), options);
  try {
    mkdirSync(folder, options);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
