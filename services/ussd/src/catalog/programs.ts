import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { checkProgram, formatFault, type Menu, nameOf, programFile, type Registry } from '@palaver/program/internal';
import { type Logger, StartError } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import { type CheckedProgram, checkSource, findOwner, type Loaded, type LoadOptions, loadAll } from './load-all.ts';
import { createProgramChecks, type ProgramChecks } from './program-checks.ts';
import { codesOf, type ProgramFileMap, toSource } from './program-files.ts';
import type { ProgramVersions } from './published.ts';
import { type MenuSources, readMenuSource } from './read-source.ts';

/** The programs in use, their renewal while the service runs, and the versions that open sessions began with. */
export interface Programs {
  /** The newest version of the program that a service code chooses. */
  forCode(serviceCode: string): Menu | undefined;
  /** A version by its id; `undefined` when nobody keeps it any more, or when it cannot run here. */
  find(id: string): Menu | Promise<Menu | undefined> | undefined;
  current(): Menu[];
  /** Reads all programs again, soon. */
  reload(): void;
  /** Reads all programs again, now; `checked` need not be checked again. */
  refresh(checked?: Menu): Promise<void>;
  /** Checks files as the program of this name, beside the programs in use. */
  check(name: string, files: ProgramFileMap): Promise<CheckedProgram>;
  /** Plays inputs on a program that was checked. */
  try: ProgramChecks['try'];
  /** Why a version cannot be used. */
  refuse(id: string): Promise<string | undefined>;
  close(): void;
}

export interface ProgramOptions extends LoadOptions {
  /** The menus that come with the service, which programs may extend. */
  bundled: MenuSources;
  registry: Registry;
  ownActions?: string | undefined;
  versions: ProgramVersions;
  /** Called with programs that are taken into use. */
  onUse?(menus: Iterable<Menu>): void;
  watch: boolean;
  logger: Logger;
}

const settleMs = 100;
const maxOldVersions = 50;
const pollMs = 2_000;

/** Loads every program, or throws with every fault. When watched, a changed program is in use once it is right. */
export async function openPrograms(options: ProgramOptions): Promise<Programs> {
  const { logger, registry, versions } = options;
  const base = await readMenuSource('palaver', options.bundled);
  const byId = new Map<string, Menu>();
  // Read before the programs are: what is published meanwhile is seen by the next poll.
  let publishedIds = await readPublished();
  // Nobody calls yet: the first check needs no thread.
  const first = await loadAll({ ...options, base, check: (source, own) => checkProgram(source, registry, own) }, byId);
  if (first.faults.length > 0) {
    const lines = first.faults.map((fault) => `  ${formatFault(fault)}`);
    throw new StartError(`The menus cannot be used:\n${lines.join('\n')}`);
  }
  for (const warning of first.warnings) logger.warn(formatFault(warning));
  for (const fault of first.unusable) logger.error(`a program is not in use: ${formatFault(fault)}`);
  const checks = createProgramChecks(registry, { ownActions: options.ownActions });
  const parts = { ...options, base, check: checks.check };
  const loading = new Map<string, Promise<Menu | undefined>>();
  let current = new Map<string, Menu>();
  /** What was read from the folder, by id. */
  let fromFolder: Loaded['sources'] = new Map();
  let byCode = new Map<string, Menu>();
  let other: Menu | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  await use(first);

  async function use({ menus, sources }: Loaded): Promise<void> {
    for (const menu of menus.values()) {
      const kept = sources.get(menu.id);
      if (kept && !byId.has(menu.id)) await versions.keep(menu.id, kept);
      byId.set(menu.id, menu);
      prepare(menu);
    }
    current = menus;
    fromFolder = sources;
    byCode = new Map([...menus.values()].flatMap((menu) => codesOf(menu).map((code) => [code, menu] as const)));
    other = [...menus.values()].find((menu) => codesOf(menu).length === 0);
    forgetOld(byId, current);
    options.onUse?.(menus.values());
  }

  /** Compiles the expressions of a program one after another, so that no caller waits for all of them. */
  async function prepare({ expressions }: Menu): Promise<void> {
    for (const expression of expressions.values()) {
      if (isClosed) return;
      expression.prepare();
      await letOthersRun();
    }
  }

  async function readPublished(): Promise<string> {
    return JSON.stringify([...((await options.published?.current()) ?? [])]);
  }

  async function reload(): Promise<void> {
    const ids = await readPublished();
    const next = await loadAll(parts, byId);
    if (next.faults.length > 0) keepFaulty(next);
    if (next.faults.length > 0)
      logger.error({ faults: next.faults.map(formatFault) }, 'the changed menus have faults; the old ones stay in use');
    for (const fault of next.unusable) logger.error(`a program is not in use: ${formatFault(fault)}`);
    const changed = [...next.menus.values()].filter(({ id }) => current.get(nameOf(id))?.id !== id);
    if (changed.length > 0 || next.menus.size !== current.size) {
      await use(next);
      logger.info({ programs: changed.map(({ id }) => id) }, 'the changed menus are in use');
    }
    publishedIds = ids;
  }

  /** A program of the folder that now has faults keeps the version in use. */
  function keepFaulty(next: Loaded): void {
    for (const [name, menu] of current) {
      const kept = fromFolder.get(menu.id);
      if (!kept || next.menus.has(name) || findOwner(name, menu, next.menus) !== undefined) continue;
      next.menus.set(name, menu);
      next.sources.set(menu.id, kept);
    }
  }

  async function loadKept(id: string): Promise<Menu | undefined> {
    const kept = await versions.load(id);
    const check = kept && (await checks.check(kept.source, kept.base ?? base));
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

  // One at a time: the last to begin has read the newest.
  let reloading: Promise<void> = Promise.resolve();
  const refresh = (checked?: Menu) => {
    if (checked) byId.set(checked.id, checked);
    reloading = reloading.catch(() => {}).then(reload);
    return reloading;
  };
  const onFault = (error: unknown) => logger.error({ err: error }, 'the changed menus cannot be loaded');
  // Editors write a file in several steps: it is read when they are done.
  const reloadSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => refresh().catch(onFault), settleMs).unref();
  };
  const polling = runEvery({
    everyMs: options.published ? pollMs : 0,
    async work() {
      if ((await readPublished()) !== publishedIds) await refresh();
    },
    onFault: (error) => logger.warn({ err: error }, 'published programs cannot be read now'),
  });
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
    refresh,
    async check(name, files) {
      const checked = await checkSource({ ...parts, check: checks.checkDraft }, toSource(name, files));
      if (!checked.check.ok) return checked;
      const { menu } = checked.check;
      const message =
        menu.id === name ? findOwner(name, menu, current) : `the program is called ${name}, not ${menu.id}`;
      if (message === undefined) return checked;
      return { ...checked, check: { ok: false, faults: [{ file: programFile, line: 1, message }] } };
    },
    try: checks.try,
    async refuse(id) {
      const menu = byId.get(id) ?? (await loadKept(id));
      if (!menu) return 'it has faults with this version of the service';
      return findOwner(nameOf(id), menu, current) ?? options.findUnmetNeeds(menu).faults[0];
    },
    close() {
      isClosed = true;
      checks.close();
      clearTimeout(timer);
      void polling.stop();
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
