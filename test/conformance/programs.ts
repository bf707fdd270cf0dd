import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const cache = fileURLToPath(new URL('../../node_modules/.cache/palaver-conformance', import.meta.url));

/** Installs Python packages into a folder of their own, once for each list of them; its programs are in `bin`. */
export function installPython(name: string, packages: string[]): string {
  return installOnce(name, packages, (folder) => {
    runOrThrow('python3', ['-m', 'venv', folder]);
    runOrThrow(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...packages]);
  });
}

/** Installs packages of npm likewise, for programs in the folder. */
export function installNode(name: string, packages: string[]): string {
  return installOnce(name, packages, (folder) => {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    runOrThrow('npm', ['install', '--no-fund', '--no-audit', '--loglevel=error', '--prefix', folder, ...packages]);
  });
}

function installOnce(name: string, packages: string[], install: (folder: string) => void): string {
  const folder = join(cache, name);
  const note = join(folder, `${createHash('sha256').update(packages.join(' ')).digest('hex')}.installed`);
  if (existsSync(note)) return folder;
  mkdirSync(folder, { recursive: true });
  install(folder);
  writeFileSync(note, '');
  return folder;
}

function runOrThrow(command: string, args: string[]): void {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error) throw new Error(`${command} is not on the PATH`, { cause: error });
  if (status !== 0) throw new Error(stderr);
}

/** What a program printed, whatever its exit status: the suites say by their reports what failed. */
export async function run(command: string, args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  const status = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject));
  return { status, output };
}
