import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempDir } from '@palaver/test-kit/servers';
import type { WorldOptions } from './world.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The latest release by its tag, in a folder of its own with the packages of this checkout. */
export async function checkOutPrevious(
  opened: AsyncDisposableStack,
): Promise<Partial<WorldOptions> | { reason: string }> {
  const commit = findPrevious();
  if (!commit) return { reason: 'no release is tagged in this checkout: there is no previous version' };
  const dir = opened.use(await createTempDir());
  const packed = spawnSync('sh', ['-c', `git -C '${root}' archive ${commit} | tar -x -C '${dir.path}'`]);
  if (packed.status !== 0) return { reason: 'the previous version could not be unpacked with git and tar' };
  linkPackages(join(root, 'node_modules'), join(dir.path, 'node_modules'));
  return { otherRoot: dir.path };
}

function findPrevious(): string | undefined {
  const git = (...args: string[]) =>
    spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() || undefined;
  // Not the tag of this very commit, where it is a release.
  const tag = git('describe', '--tags', '--abbrev=0', 'HEAD~1');
  return tag && git('rev-parse', '--verify', '-q', `${tag}^{commit}`);
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
