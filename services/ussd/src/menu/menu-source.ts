import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Logger, StartError } from '@palaver/service-kit';
import { formatFault } from './fault.ts';
import { loadMenu, type MenuSources } from './load-menu.ts';
import type { Menu, Registry } from './menu.ts';

/** The menu in use, and its renewal while the service runs. */
export interface MenuSource {
  current(): Menu;
  close(): void;
}

const settleMs = 100;

/** Loads the menu, or throws with every fault. When watched, changed files are taken into use once they are right. */
export async function openMenuSource(
  sources: MenuSources,
  registry: Registry,
  options: { watch: boolean; logger: Logger },
): Promise<MenuSource> {
  const { logger } = options;
  const first = await loadMenu(sources, registry);
  if (!first.ok) {
    const lines = first.faults.map((fault) => `  ${formatFault(fault)}`);
    throw new StartError(`The menus cannot be used:\n${lines.join('\n')}`);
  }
  for (const warning of first.warnings) logger.warn(formatFault(warning));
  let menu = first.menu;
  let timer: NodeJS.Timeout | undefined;

  async function reload(): Promise<void> {
    const next = await loadMenu(sources, registry);
    if (next.ok) {
      menu = next.menu;
      logger.info('the changed menus are in use');
    } else
      logger.error({ faults: next.faults.map(formatFault) }, 'the changed menus have faults; the old ones stay in use');
  }

  const watchers = options.watch
    ? [sources.menus, sources.locales].map((path) =>
        watchPath(path, () => {
          // Editors write a file in several steps: it is read when they are done.
          clearTimeout(timer);
          timer = setTimeout(reload, settleMs).unref();
        }).on('error', (error) => logger.warn({ err: error }, 'the menus are no longer watched')),
      )
    : [];
  return {
    current: () => menu,
    close() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** Kubernetes changes a mounted file by moving this link beside it. */
const mountedData = '..data';

/** A file is watched by its folder: a new file that takes its place would not be seen otherwise. */
function watchPath(path: string, onChange: () => void): FSWatcher {
  if (statSync(path).isDirectory()) return watch(path, { persistent: false }, onChange);
  const names = [basename(path), mountedData, null];
  return watch(dirname(path), { persistent: false }, (_, name) => {
    if (names.includes(name)) onChange();
  });
}
