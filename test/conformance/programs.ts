import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const cache = fileURLToPath(new URL('../../node_modules/.cache/palaver-conformance', import.meta.url));

/** Installs Python packages into a folder of their own, once for each list of them; returns its programs' folder. */
export function installPython(name: string, packages: string[]): string {
  const folder = join(cache, name);
  const note = join(folder, `${Buffer.from(packages.join(' ')).toString('base64url').slice(-60)}.installed`);
  const bin = join(folder, 'bin');
  if (existsSync(note)) return bin;
  mkdirSync(cache, { recursive: true });
  runOrThrow('python3', ['-m', 'venv', folder]);
  runOrThrow(join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', ...packages]);
  writeFileSync(note, '');
  return bin;
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
