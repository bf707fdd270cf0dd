import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { parseProtoFiles } from './parse-proto-files.ts';
import type { DescriptorSource } from './schema.ts';
import { listServices } from './schema.ts';

/** Reads every `.proto` file under a folder; import paths are relative to it. Services in the order of the paths. */
export async function loadProtoFolder(folder: string): Promise<DescriptorSource> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.proto'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const sources = await Promise.all(
    paths.map(async (path) => ({
      name: path.slice(join(folder, sep).length).split(sep).join('/'),
      text: await readFile(path, 'utf8'),
    })),
  );
  const files = parseProtoFiles(sources);
  return { files, services: listServices(files) };
}
