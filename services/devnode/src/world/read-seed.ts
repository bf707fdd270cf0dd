import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bundledFolder = fileURLToPath(new URL('../../seed', import.meta.url));

const seedFiles = [
  'agent-deposits.json',
  'agent.json',
  'balances.json',
  'claims.json',
  'collections.json',
  'disputes.json',
  'entities.json',
  'iid-documents.json',
  'intents.json',
  'member-budgets.json',
  'params.json',
  'token-properties.json',
  'tokens.json',
] as const;

export type SeedFile = (typeof seedFiles)[number];

/** The seed files as JSON, those in `folder` in place of the bundled ones. Every fault is added to `faults`. */
export async function readSeed(folder: string | undefined, faults: string[]): Promise<Record<SeedFile, unknown>> {
  const replaced = folder === undefined ? [] : await listJsonFiles(folder, faults);
  const entries = seedFiles.map(async (file) => {
    const text = await readFile(
      join(folder !== undefined && replaced.includes(file) ? folder : bundledFolder, file),
      'utf8',
    );
    try {
      return [file, JSON.parse(text)];
    } catch (error) {
      faults.push(`${file}: not JSON: ${(error as Error).message}`);
      return [file, undefined];
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function listJsonFiles(folder: string, faults: string[]): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    faults.push(`cannot be read: ${error.code}`);
    return [];
  });
  const found = names.filter((name) => name.endsWith('.json'));
  const known: readonly string[] = seedFiles;
  // A file of another name would be passed over in silence, and with it what its author wanted to change.
  for (const name of found.filter((name) => !known.includes(name))) {
    faults.push(`${name}: no seed file has this name; there are ${seedFiles.join(', ')}`);
  }
  return found;
}
