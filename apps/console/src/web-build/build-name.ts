import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '../../../..');
/** Holds the built page in a folder named by `buildName`. */
export const dist = join(import.meta.dirname, '../../dist');
const sources = [
  'apps/console/web',
  'apps/console/src/metrics',
  'apps/console/public',
  'apps/console/index.html',
  'apps/console/vite.config.ts',
  'apps/console/package.json',
  'docs',
  'packages/contract/src',
  'packages/ucan/src',
  'packages/oracles-client-sdk/src',
  'packages/program/src',
  'examples/savings-group',
  'examples/price-list',
  'services/ussd/src/commands',
];

export const buildName = (): string => fingerprint(root, sources);

export function fingerprint(root: string, paths: string[]): string {
  const hash = createHash('sha256');
  for (const path of paths.flatMap((name) => listFiles(join(root, name))).sort()) {
    hash
      .update(`${relative(root, path)}\0`)
      .update(readFileSync(path))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

function listFiles(path: string): string[] {
  try {
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [path];
    throw error;
  }
}
