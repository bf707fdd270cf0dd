import { downloadBytes } from '../ui/download.ts';
import type { ProgramFiles } from './program-api.ts';

/** The program's folder as a ZIP file, as `palaver program` commands read it once it is unpacked. */
export async function saveZip(name: string, files: ProgramFiles): Promise<void> {
  const { strToU8, zipSync } = await import('fflate');
  const entries = Object.entries(files).map(([path, text]) => [`${name}/${path}`, strToU8(text)]);
  downloadBytes(`${name}.zip`, zipSync(Object.fromEntries(entries)), 'application/zip');
}

/** More than the service takes of a program; a small ZIP file may unpack to more than a tab can hold. */
const maxBytes = 8 * 1024 * 1024;

/** Reads it back; the folder that holds `program.yaml` may have any name. */
export async function fromZip(bytes: Uint8Array<ArrayBuffer>): Promise<ProgramFiles> {
  const { strFromU8, unzipSync } = await import('fflate');
  let total = 0;
  const filter = ({ name, originalSize }: { name: string; originalSize: number }) => {
    total += originalSize;
    if (total > maxBytes) throw new Error('the files are too large for a program');
    return !name.endsWith('/');
  };
  const entries = Object.entries(unzipSync(bytes, { filter }));
  const main = entries.map(([path]) => path).find((path) => /(^|\/)program\.yaml$/.test(path)) ?? 'program.yaml';
  const root = main.slice(0, -'program.yaml'.length);
  return Object.fromEntries(
    entries
      .filter(([path]) => path.startsWith(root))
      .map(([path, content]) => [path.slice(root.length), strFromU8(content)]),
  );
}
