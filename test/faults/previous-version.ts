import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempDir } from '@palaver/test-kit/servers';
import type { WorldOptions } from './world.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** How far back the previous version is where no tag names it. */
const commitsBack = 10;

/** The latest tag, or a few commits back, in a folder of its own with the packages of this checkout. */
export async function checkOutPrevious(
  opened: AsyncDisposableStack,
): Promise<Partial<WorldOptions> | { reason: string }> {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  const tag = git('describe', '--tags', '--abbrev=0').stdout?.trim();
  const commit = git('rev-parse', '--verify', '-q', `${tag || `HEAD~${commitsBack}`}^{commit}`).stdout?.trim();
  if (!commit) return { reason: 'the previous version needs a checkout with its history' };
  const dir = opened.use(await createTempDir());
  const packed = spawnSync('sh', ['-c', `git -C '${root}' archive ${commit} | tar -x -C '${dir.path}'`]);
  if (packed.status !== 0) return { reason: 'the previous version could not be unpacked with git and tar' };
  linkPackages(join(root, 'node_modules'), join(dir.path, 'node_modules'));
  return { otherRoot: dir.path };
}

/** Links to the packages of others; links to our own workspaces lead into the other checkout, as npm makes them relative. */
function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    const source = join(from, name);
    if (name.startsWith('@') && lstatSync(source).isDirectory()) linkPackages(source, join(to, name));
    else if (lstatSync(source).isSymbolicLink())
      symlinkSync(resolve(dirname(join(to, name)), readlinkSync(source)), join(to, name));
    else symlinkSync(source, join(to, name));
  }
}
