import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { checkProgram, formatFault, type Menu, nameOf, programFile, type Registry } from '@palaver/program/internal';
import { type Logger, StartError } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import { bundledProgram } from './bundled-program.ts';
import { type CheckedProgram, checkSource, findOwner, type Loaded, type LoadOptions, loadAll } from './load-all.ts';
import { createProgramChecks } from './program-checks.ts';
import { codesOf, keywordsOf, type ProgramFileMap, toSource } from './program-files.ts';
import { readProgramSource } from './read-source.ts';

export interface ProgramOptions extends LoadOptions {
  registry: Registry;
  ownActions?: string | undefined;
  onUse?(menus: Iterable<Menu>): void;
  watch: boolean;
  logger: Logger;
}

const settleMs = 100;
const maxOldVersions = 50;
const pollMs = 2_000;

/** Throws with every fault of every program. When watched, a changed program is in use once it has none. */
export async function openPrograms(options: ProgramOptions) {
  const { logger, registry, published } = options;
  const base = await readProgramSource(bundledProgram);
  /** The versions that open sessions began with, those in use included. */
  const byId = new Map<string, Menu>();
  const loading = new Map<string, Promise<Menu | undefined>>();
  const closing = new AbortController();
  const readPublished = async () => JSON.stringify([...(await published.current())]);
  // Read before the programs are: what is published meanwhile is seen by the next poll.
  let publishedIds = await readPublished();
  // Nobody calls yet: the first check needs no thread.
  const first = await loadAll({ ...options, base, check: (source, own) => checkProgram(source, registry, own) }, byId);
  if (first.faults.length > 0) {
    const lines = first.faults.map((fault) => `  ${formatFault(fault)}`);
    throw new StartError(`The menus cannot be used:\n${lines.join('\n')}`);
  }
  const reportUnusable = ({ unusable }: Loaded) => {
    for (const fault of unusable) logger.error(`a program is not in use: ${formatFault(fault)}`);
  };
  for (const warning of first.warnings) logger.warn(formatFault(warning));
  reportUnusable(first);
  const checks = createProgramChecks(registry, { ownActions: options.ownActions });
  const parts = { ...options, base, check: checks.check };
  let inUse = await use(first);
  let timer: NodeJS.Timeout | undefined;

  async function use({ menus, sources }: Loaded) {
    for (const menu of menus.values()) {
      const kept = sources.get(menu.id);
      if (kept && !byId.has(menu.id)) await published.keep(menu.id, kept);
      byId.set(menu.id, menu);
      void prepare(menu);
    }
    forgetOld(byId, menus);
    options.onUse?.(menus.values());
    const all = [...menus.values()];
    return {
      menus,
      sources,
      byCode: new Map(
        all.flatMap((menu) => [...codesOf(menu), ...keywordsOf(menu)].map((code) => [code, menu] as const)),
      ),
      other: all.find((menu) => codesOf(menu).length === 0),
    };
  }

  /** One expression at a time, so that no caller waits for all of them. */
  async function prepare({ expressions }: Menu): Promise<void> {
    for (const expression of expressions.values()) {
      if (closing.signal.aborted) return;
      expression.prepare();
      await letOthersRun();
    }
  }

  async function loadCurrent(): Promise<void> {
    const ids = await readPublished();
    const next = await loadAll(parts, byId);
    if (next.faults.length > 0) {
      keepFaulty(next);
      logger.error({ faults: next.faults.map(formatFault) }, 'the changed menus have faults; the old ones stay in use');
    }
    const changed = [...next.menus.values()].filter(({ id }) => inUse.menus.get(nameOf(id))?.id !== id);
    reportUnusable(next);
    if (changed.length > 0 || next.menus.size !== inUse.menus.size) {
      inUse = await use(next);
      logger.info({ programs: changed.map(({ id }) => id) }, 'the changed menus are in use');
    }
    publishedIds = ids;
  }

  /** A program of the folder that now has faults keeps the version in use. */
  function keepFaulty(next: Loaded): void {
    for (const [name, menu] of inUse.menus) {
      const kept = inUse.sources.get(menu.id);
      if (!kept || next.menus.has(name) || findOwner(name, menu, next.menus) !== undefined) continue;
      next.menus.set(name, menu);
      next.sources.set(menu.id, kept);
    }
  }

  async function loadKept(id: string): Promise<Menu | undefined> {
    const kept = await published.load(id);
    const check = kept && (await checks.check(kept.source, kept.base ?? base));
    if (!check?.ok) {
      const faults = check?.faults.map(formatFault);
      if (faults) logger.warn({ program: id, faults }, 'an earlier version cannot run any longer');
      return undefined;
    }
    const menu = { ...check.menu, id };
    byId.set(id, menu);
    forgetOld(byId, inUse.menus);
    return menu;
  }

  /** `undefined` for a version that is no longer kept or cannot run here. */
  function find(id: string): Menu | Promise<Menu | undefined> {
    const menu = byId.get(id);
    if (menu) return menu;
    const running = loading.get(id) ?? loadKept(id).finally(() => loading.delete(id));
    loading.set(id, running);
    return running;
  }

  // One at a time, so that the last to begin reads the newest.
  let reloading: Promise<void> = Promise.resolve();
  const refresh = (checked?: Menu) => {
    if (checked) byId.set(checked.id, checked);
    reloading = reloading.catch(() => {}).then(loadCurrent);
    return reloading;
  };
  /** Waits a moment first: editors write a file in several steps. */
  const reload = () => {
    const onFault = (error: unknown) => logger.error({ err: error }, 'the changed menus cannot be loaded');
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (watchers.length > 0) watchFolders();
      refresh().catch(onFault);
    }, settleMs).unref();
  };
  let watchers: FSWatcher[] = [];
  const onWatchFault = (error: unknown) => logger.warn({ err: error }, 'the menus are no longer watched');
  /** One by one: a watcher of a whole tree misses files that are replaced for the second time. */
  function watchFolders() {
    try {
      const begun = listFolders(options.folder).map((path) =>
        watch(path, { persistent: false }, reload).on('error', onWatchFault),
      );
      for (const watcher of watchers) watcher.close();
      watchers = begun;
    } catch (error) {
      onWatchFault(error);
    }
  }
  const polling = runEvery({
    everyMs: pollMs,
    async work() {
      if ((await readPublished()) !== publishedIds) await refresh();
    },
    onFault: (error) => logger.warn({ err: error }, 'published programs cannot be read now'),
  });
  if (options.watch) watchFolders();
  return {
    forCode: (serviceCode: string): Menu | undefined => inUse.byCode.get(serviceCode) ?? inUse.other,
    /** By a keyword in capitals, or by a code of its own. */
    forKeyword: (word: string): Menu | undefined => inUse.byCode.get(word),
    find,
    current: () => [...inUse.menus.values()],
    reload,
    refresh,
    async check(name: string, files: ProgramFileMap): Promise<CheckedProgram> {
      const checked = await checkSource({ ...parts, check: checks.checkDraft }, toSource(name, files));
      if (!checked.check.ok) return checked;
      const { menu } = checked.check;
      const message =
        menu.id === name ? findOwner(name, menu, inUse.menus) : `the program is called ${name}, not ${menu.id}`;
      if (message === undefined) return checked;
      return { ...checked, check: { ok: false, faults: [{ file: programFile, line: 1, message }] } };
    },
    try: checks.try,
    async refuse(id: string): Promise<string | undefined> {
      const menu = await find(id);
      if (!menu) return 'it has faults with this version of the service';
      return findOwner(nameOf(id), menu, inUse.menus) ?? options.findUnmetNeeds(menu).faults[0];
    },
    close() {
      closing.abort();
      checks.close();
      clearTimeout(timer);
      void polling.stop();
      for (const watcher of watchers) watcher.close();
    },
  };
}

export type Programs = Awaited<ReturnType<typeof openPrograms>>;

function listFolders(root: string): string[] {
  const inside = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [root, ...inside.map(({ parentPath, name }) => join(parentPath, name))];
}

/** The oldest go first; a session on one of them loads it from the database. */
function forgetOld(byId: Map<string, Menu>, current: ReadonlyMap<string, Menu>): void {
  for (const id of byId.keys()) {
    if (byId.size <= maxOldVersions + current.size) return;
    if (current.get(nameOf(id))?.id !== id) byId.delete(id);
  }
}
