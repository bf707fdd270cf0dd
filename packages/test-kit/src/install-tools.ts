import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const tools = fileURLToPath(new URL('../../../tools', import.meta.url));

/**
 * Large programs that only checks or tests need are not part of `npm install`. Each folder in `tools/` pins some of them in
 * a lockfile of its own; this installs one folder unless that very lockfile is installed already, and returns the folder.
 */
export function installTools(name: 'browser-clients' | 'check' | 'clients' | 'docs' | 'test' | 'node-22'): string {
  const folder = join(tools, name);
  const lock = join(folder, 'package-lock.json');
  const installed = join(folder, 'node_modules/.installed-lock.json');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(lock, 'utf8')) return folder;
  process.stderr.write(`Installing tools/${name} (first use, or its versions changed) …\n`);
  // With `--no-save` npm does not change the lockfile; npm versions differ in which optional packages they add to it.
  const { status } = spawnSync('npm', ['install', '--no-save', '--no-fund', '--no-audit', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0)
    throw new Error(`tools/${name} could not be installed: run "npm install" in that folder to see why.`);
  copyFileSync(lock, installed);
  return folder;
}

interface TestPrograms {
  loadPostgres(): Promise<{ initdb: string; postgres: string }>;
  loadChromium(): Promise<{ args: string[]; executablePath(): Promise<string> }>;
}

/** What `tools/test` holds, installed first where it is not. */
export async function loadTestPrograms(): Promise<TestPrograms> {
  return import(pathToFileURL(join(installTools('test'), 'programs.js')).href);
}

/** A client of `tools/clients` by the name of its package, installed first where it is not. */
// biome-ignore lint/suspicious/noExplicitAny: the packages are not there when types are checked.
export async function loadClient(name: string): Promise<any> {
  const { clients } = await import(pathToFileURL(join(installTools('clients'), 'clients.js')).href);
  return clients[name]();
}
