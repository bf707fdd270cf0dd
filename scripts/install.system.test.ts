import { spawnSync } from 'node:child_process';
import { existsSync, globSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

it('installs without a word about the version of Node', () => {
  // The machine's own Node, which runs npm, not the one that is installed with the product.
  const PATH = process.env.PATH?.split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const { stdout, stderr, status } = spawnSync('npm', ['install', '--dry-run', '--offline', '--no-audit'], {
    cwd: root,
    env: { ...process.env, PATH: PATH?.join(delimiter) },
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  expect(status, stderr).toBe(0);
  expect(stdout + stderr).not.toMatch(/EBADENGINE|deprecated/);
});

it('has a lockfile that npm ci takes, on every platform', () => {
  const options = ['ci', '--dry-run', '--offline', '--no-audit', '--ignore-scripts'];
  const { stderr, status } = spawnSync('npm', options, {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  expect(status, stderr).toBe(0);
});

it('asks for no Node of its own in any workspace: all run on the Node that is installed with them', () => {
  const manifests = globSync('{package.json,{packages,services,apps}/*/package.json}', { cwd: root });
  expect(manifests.length).toBeGreaterThan(8);
  const asking = manifests.filter((path) => 'engines' in JSON.parse(readFileSync(join(root, path), 'utf8')));
  expect(asking).toEqual([]);
});

it.skipIf(process.platform !== 'linux')('takes at most 400 MB of disk', () => {
  const folders = ['node_modules', ...globSync('{packages,services,apps}/*/node_modules', { cwd: root })];
  const bytes = folders.reduce((sum, folder) => sum + diskUsage(join(root, folder)), 0);
  expect(Math.round(bytes / 2 ** 20)).toBeLessThanOrEqual(400);
});

/** Like `du`, without the caches that programs write later (`.vite`, `.cache`). */
function diskUsage(folder: string): number {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.'))
    .reduce((sum, entry) => {
      const path = join(folder, entry.name);
      return sum + lstatSync(path).blocks * 512 + (entry.isDirectory() ? diskUsage(path) : 0);
    }, 0);
}

it('pins the Node that everything runs on by its hash; no install script brings it', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { optionalDependencies, allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = Object.keys(optionalDependencies).filter((name) => /^node-(bin-)?(darwin|linux|win)-/.test(name));
  expect(names.length).toBeGreaterThan(3);
  for (const name of names) {
    const { version, integrity, hasInstallScript } = lock.packages[`node_modules/${name}`];
    expect([name, version, hasInstallScript]).toEqual([name, optionalDependencies[name], undefined]);
    expect(integrity).toMatch(/^sha512-/);
    expect(allowScripts).not.toHaveProperty(name);
  }
  expect(lock.packages).not.toHaveProperty('node_modules/node');
});

it('lists what is installed as CycloneDX, the Node that everything runs on with its hash', () => {
  const options = {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
    shell: process.platform === 'win32',
  } as const;
  const { stdout, stderr, status } = spawnSync('npm', ['run', '--silent', 'sbom'], options);
  expect(status, stderr).toBe(0);
  const { bomFormat, components } = JSON.parse(stdout);
  const node = components.find(({ name }: { name: string }) => /^node-(bin-)?(darwin|linux|win)-/.test(name));
  expect([bomFormat, node?.hashes]).toEqual(['CycloneDX', [expect.objectContaining({ alg: 'SHA-512' })]]);
});
