import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { checkMenu, type MenuCheck } from './check-menu.ts';
import type { Registry } from './menu.ts';
import { parseLocale } from './parse-locale.ts';
import { parseMenu } from './parse-menu.ts';

export interface MenuSources {
  /** One file, or a folder whose `.yaml` files together are the menu. */
  menus: string;
  /** A folder with one `.yaml` file for each language. */
  locales: string;
}

const maxFileBytes = 1_000_000;

/** Reads and checks the files. A file that cannot be read is a fault like any other. */
export async function loadMenu(sources: MenuSources, registry: Registry): Promise<MenuCheck> {
  try {
    const menus = await readYamlFiles(sources.menus);
    const locales = await readYamlFiles(sources.locales);
    return checkMenu(
      menus.map(({ file, source }) => parseMenu(file, source)),
      locales.map(({ file, source }) => parseLocale(file, basename(file).replace(/\.ya?ml$/, ''), source)),
      registry,
    );
  } catch (error) {
    const { path = sources.menus, message } = error as NodeJS.ErrnoException;
    return { ok: false, faults: [{ file: path, line: 1, message }] };
  }
}

async function readYamlFiles(path: string): Promise<{ file: string; source: string }[]> {
  const isFolder = (await stat(path)).isDirectory();
  const files = isFolder
    ? (await readdir(path))
        .filter((name) => /\.ya?ml$/.test(name))
        .sort()
        .map((name) => join(path, name))
    : [path];
  if (files.length === 0) throw Object.assign(new Error('there is no .yaml file here'), { path });
  return Promise.all(
    files.map(async (file) => {
      if ((await stat(file)).size > maxFileBytes)
        throw Object.assign(new Error('the file is too large'), { path: file });
      return { file, source: await readFile(file, 'utf8') };
    }),
  );
}
