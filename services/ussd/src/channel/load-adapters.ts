import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Fault, formatFault } from '@palaver/program/internal';
import { StartError } from '@palaver/service-kit';
import type { Adapter } from './adapter.ts';
import { ownPath } from './compile-adapter.ts';
import { type AdapterCheck, parseAdapter } from './parse-adapter.ts';

const bundledFolder = fileURLToPath(new URL('../../adapters/', import.meta.url));

/** The bundled adapters, then those of `USSD_ADAPTERS`; one with the name of another replaces it. */
export async function loadAdapters(
  files: readonly string[],
  secrets: Readonly<Record<string, string>>,
): Promise<Adapter[]> {
  const bundled = readdirSync(bundledFolder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => join(bundledFolder, file));
  const adapters = new Map<string, Adapter>();
  const faults: Fault[] = [];
  for (const file of [...bundled, ...files]) {
    const check = await loadAdapter(file, secrets);
    if (!check.ok) faults.push(...check.faults);
    else adapters.set(check.adapter.name, check.adapter);
  }
  const loaded = [...adapters.values()];
  const own = loaded.filter(({ path }) => path === ownPath);
  if (faults.length > 0 || own.length !== 1 || own[0]?.name !== ownName)
    throw new StartError(
      [
        ...faults.map(formatFault),
        ...(faults.length > 0 ? [] : [`the path ${ownPath} is that of ${ownName} alone`]),
      ].join('\n'),
    );
  return loaded;
}

const ownName = 'africas-talking';

/** A mapping, or a module of its author's own that exports `adapter`. */
export async function loadAdapter(file: string, secrets: Readonly<Record<string, string>>): Promise<AdapterCheck> {
  if (/\.[cm]?[jt]s$/.test(file)) {
    const { adapter } = (await import(pathToFileURL(resolve(file)).href)) as { adapter?: Adapter };
    if (typeof adapter?.read === 'function') return { ok: true, adapter };
    return { ok: false, faults: [{ file, line: 1, message: 'the module exports no "adapter"' }] };
  }
  try {
    return parseAdapter(file, readFileSync(file, 'utf8'), secrets);
  } catch (error) {
    return { ok: false, faults: [{ file, line: 1, message: error instanceof Error ? error.message : String(error) }] };
  }
}
