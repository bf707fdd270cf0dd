import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { createShell, prepareCache, type Shell } from '../packages/outside.ts';
import { packWorkspaces } from '../packages/pack-workspaces.ts';
import { startRegistry } from '../packages/registry.ts';

const root = join(import.meta.dirname, '../..');

export interface Projects extends AsyncDisposable {
  shell: Shell;
  /** Copies a project to a folder of its own, with `versions` in its manifest, and installs what it names. */
  install(project: string, versions?: Record<string, string>): Promise<string>;
}

/** A folder outside of the repository, a registry with the packed library, and a shell that uses it. */
export async function createProjects(): Promise<Projects> {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir());
  const tarballs = join(dir.path, 'tarballs');
  mkdirSync(tarballs);
  packWorkspaces({ copy: join(dir.path, 'checkout'), folder: tarballs, names: ['@palaver/oracles-client-sdk'] });
  const registry = await startRegistry(tarballs);
  stack.defer(() => registry.close());
  prepareCache(dir.path);
  const shell = createShell({ home: dir.path, registry: registry.url, node: dirname(process.execPath) });
  let count = 0;
  return {
    shell,
    async install(project, versions = {}) {
      count += 1;
      const folder = join(dir.path, `${basename(project)}-${count}`);
      cpSync(join(root, project), folder, { recursive: true });
      const manifest = join(folder, 'package.json');
      const text = readFileSync(manifest, 'utf8');
      writeFileSync(
        manifest,
        Object.entries(versions).reduce(
          (filled, [mark, version]) => filled.replaceAll(`"${mark}"`, `"${version}"`),
          text,
        ),
      );
      await shell.run('npm install --no-audit --no-fund --loglevel=error', folder);
      return folder;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
