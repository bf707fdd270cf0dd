import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Logger, StartError } from '@palaver/service-kit';
import { checkForms } from '../forms/check-forms.ts';
import type { Forms } from '../forms/forms.ts';
import { checkProgram } from '../menu/check-program.ts';
import { type Fault, formatFault } from '../menu/fault.ts';
import { type Menu, nameOf, type Registry } from '../menu/menu.ts';
import type { ProgramSource, SourceFile } from '../menu/program-source.ts';
import { toVersion } from './load-program.ts';
import { findPrograms, type MenuSources, readMenuSource, readProgramSource, SourceFault } from './read-source.ts';
import type { ProgramVersions } from './versions.ts';

/** The programs in use, their renewal while the service runs, and the versions that open sessions began with. */
export interface Programs {
  /** The newest version of the program that a service code chooses. */
  forCode(serviceCode: string): Menu | undefined;
  /** A version by its id; `undefined` when nobody keeps it any more, or when it cannot run here. */
  find(id: string): Menu | Promise<Menu | undefined> | undefined;
  current(): Menu[];
  /** Reads all programs again. */
  reload(): void;
  close(): void;
}

export interface ProgramOptions {
  /** The menus that come with the service, which programs may extend. */
  bundled: MenuSources;
  /** A menu without a program file: answers every code that no program names. */
  menus?: MenuSources | undefined;
  /** A program's folder, or a folder of them. */
  folder?: string | undefined;
  registry: Registry;
  forms: Pick<Forms, 'inspect'>;
  /** Forms of a server, which programs may name. */
  fetched?: () => readonly SourceFile[];
  versions: ProgramVersions;
  watch: boolean;
  logger: Logger;
}

interface Loaded {
  menus: Map<string, Menu>;
  sources: Map<string, ProgramSource>;
  warnings: Fault[];
  faults: Fault[];
}

const settleMs = 100;
const maxOldVersions = 50;

/** Loads every program, or throws with every fault. When watched, a changed program is in use once it is right. */
export async function openPrograms(options: ProgramOptions): Promise<Programs> {
  const { logger, registry, versions } = options;
  const base = await readMenuSource('palaver', options.bundled);
  const first = await loadAll(options, base);
  if (first.faults.length > 0) {
    const lines = first.faults.map((fault) => `  ${formatFault(fault)}`);
    throw new StartError(`The menus cannot be used:\n${lines.join('\n')}`);
  }
  for (const warning of first.warnings) logger.warn(formatFault(warning));
  const byId = new Map<string, Menu>();
  const loading = new Map<string, Promise<Menu | undefined>>();
  let current = new Map<string, Menu>();
  let byCode = new Map<string, Menu>();
  let other: Menu | undefined;
  let timer: NodeJS.Timeout | undefined;
  await use(first);

  async function use({ menus, sources }: Loaded): Promise<void> {
    for (const menu of menus.values()) {
      const source = sources.get(menu.id);
      if (source && !byId.has(menu.id)) await versions.keep(menu.id, { source, base });
      byId.set(menu.id, menu);
    }
    current = menus;
    byCode = new Map([...menus.values()].flatMap((menu) => menu.codes.map((code) => [code, menu] as const)));
    other = [...menus.values()].find(({ codes }) => codes.length === 0);
    forgetOld(byId, current);
  }

  async function reload(): Promise<void> {
    const next = await loadAll(options, base);
    // A program with faults stays as it was; the others are renewed.
    for (const [name, menu] of current) {
      const isFaulty = next.faults.length > 0 && !next.menus.has(name);
      if (isFaulty) next.menus.set(name, menu);
    }
    if (next.faults.length > 0)
      logger.error({ faults: next.faults.map(formatFault) }, 'the changed menus have faults; the old ones stay in use');
    const changed = [...next.menus.values()].filter(({ id }) => current.get(nameOf(id))?.id !== id);
    if (changed.length === 0 && next.menus.size === current.size) return;
    await use(next);
    logger.info({ programs: changed.map(({ id }) => id) }, 'the changed menus are in use');
  }

  async function loadKept(id: string): Promise<Menu | undefined> {
    const kept = await versions.load(id);
    const check = kept && checkProgram(kept.source, registry, kept.base ?? base);
    if (!check) return undefined;
    if (!check.ok) {
      logger.warn({ program: id, faults: check.faults.map(formatFault) }, 'an earlier version cannot run any longer');
      return undefined;
    }
    const menu = { ...check.menu, id };
    byId.set(id, menu);
    forgetOld(byId, current);
    return menu;
  }

  // Editors write a file in several steps: it is read when they are done.
  const reloadSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      reload().catch((error: unknown) => logger.error({ err: error }, 'the changed menus cannot be loaded'));
    }, settleMs).unref();
  };
  const watchers = options.watch
    ? toWatched(options).map((path) =>
        watchPath(path, reloadSoon).on('error', (error) =>
          logger.warn({ err: error }, 'the menus are no longer watched'),
        ),
      )
    : [];
  return {
    forCode: (serviceCode) => byCode.get(serviceCode) ?? other,
    find(id) {
      const menu = byId.get(id);
      if (menu) return menu;
      const running = loading.get(id) ?? loadKept(id).finally(() => loading.delete(id));
      loading.set(id, running);
      return running;
    },
    current: () => [...current.values()],
    reload: reloadSoon,
    close() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** The oldest go first; a session on one of them loads it from the database. */
function forgetOld(byId: Map<string, Menu>, current: ReadonlyMap<string, Menu>): void {
  for (const id of byId.keys()) {
    if (byId.size <= maxOldVersions + current.size) return;
    if (current.get(nameOf(id))?.id !== id) byId.delete(id);
  }
}

async function loadAll(options: ProgramOptions, base: ProgramSource): Promise<Loaded> {
  const loaded: Loaded = { menus: new Map(), sources: new Map(), warnings: [], faults: [] };
  const taken = new Map<string, string>();
  for (const read of await listSources(options, loaded.faults)) {
    try {
      const source = withFetched(await read(), options.fetched?.() ?? []);
      const check = await checkForms(checkProgram(source, options.registry, base), source, options.forms);
      if (!check.ok) {
        loaded.faults.push(...check.faults);
        continue;
      }
      const name = check.menu.id === '' ? source.name : check.menu.id;
      const menu = { ...check.menu, id: `${name}@${toVersion(source, base)}` };
      const file = source.files.find(({ path }) => path === 'program.yaml')?.file ?? options.menus?.menus ?? '';
      const claims = [`the name ${name}`, ...(menu.codes.length > 0 ? menu.codes : ['every other code'])];
      const clash = claims.find((claim) => taken.has(claim));
      if (clash !== undefined) {
        loaded.faults.push({ file, line: 1, message: `${clash} belongs to ${taken.get(clash)}` });
        continue;
      }
      for (const claim of claims) taken.set(claim, file);
      loaded.menus.set(name, menu);
      loaded.sources.set(menu.id, source);
      loaded.warnings.push(...check.warnings);
    } catch (error) {
      if (!(error instanceof SourceFault)) throw error;
      loaded.faults.push({ file: error.path, line: 1, message: error.message });
    }
  }
  return loaded;
}

/** Only what a program names is part of its version. */
function withFetched(source: ProgramSource, fetched: readonly SourceFile[]): ProgramSource {
  const named = new Set(source.files.flatMap(({ text }) => text.match(/forms\/server\/[\w.-]+(?=\.xml)/g) ?? []));
  const isNamed = (path: string) => [...named].some((name) => path === `${name}.xml` || path.startsWith(`${name}/`));
  return { ...source, files: [...source.files, ...fetched.filter(({ path }) => isNamed(path))] };
}

async function listSources(
  { menus, folder }: ProgramOptions,
  faults: Fault[],
): Promise<(() => Promise<ProgramSource>)[]> {
  const own = menus ? [() => readMenuSource('palaver', menus)] : [];
  if (folder === undefined) return own;
  try {
    return [...(await findPrograms(folder)).map((path) => () => readProgramSource(path)), ...own];
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    faults.push({ file: error.path, line: 1, message: error.message });
    return own;
  }
}

function toWatched({ menus, folder }: ProgramOptions): string[] {
  return [...(menus ? [menus.menus, menus.locales] : []), ...(folder === undefined ? [] : [folder])];
}

/** Kubernetes changes a mounted file by moving this link beside it. */
const mountedData = '..data';

/** A file is watched by its folder: a new file that takes its place would not be seen otherwise. */
function watchPath(path: string, onChange: () => void): FSWatcher {
  if (statSync(path).isDirectory()) return watch(path, { persistent: false, recursive: true }, onChange);
  const names = [basename(path), mountedData, null];
  return watch(dirname(path), { persistent: false }, (_, name) => {
    if (names.includes(name)) onChange();
  });
}
