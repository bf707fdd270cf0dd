// Starts the programs of the benchmarks and asks them what they use.
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { targets } from './answers.ts';
import type { LoadOptions, LoadResult } from './load-client.ts';

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Starts a program and resolves with the first message it sends. */
export function start<T>(name: string, env: Record<string, string> = {}): Promise<{ child: ChildProcess; first: T }> {
  const execArgv = ['--import', script('cpu-probe.ts')];
  const child = fork(script(name), { env: { PATH: process.env.PATH ?? '', ...env }, execArgv });
  // Whatever ends this run ends what it started.
  process.once('exit', () => child.kill());
  return new Promise((resolve, reject) => {
    child.once('message', (first: T) => resolve({ child, first }));
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)));
  });
}

/** CPU time used since the start, and memory held now. */
export async function readUsage(child: ChildProcess): Promise<{ cpuMicros: number; rss: number }> {
  if (!child.channel) return readProcess(child.pid);
  return new Promise((resolve) => {
    child.once('message', ({ cpu, rss }: { cpu: NodeJS.CpuUsage; rss: number }) =>
      resolve({ cpuMicros: cpu.user + cpu.system, rss }),
    );
    child.send('cpu');
  });
}

/** The same for a program that is not ours, as Linux counts it: in hundredths of a second and pages of 4 KB. */
async function readProcess(pid: number | undefined): Promise<{ cpuMicros: number; rss: number }> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, pages = 0] = [fields[11], fields[12], fields[21]];
  return { cpuMicros: (user + system) * 10_000, rss: pages * 4096 };
}

export async function waitForRoutes(url: string): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    if ((await fetch(url + targets.params.replace('{n}', '1'))).status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${url} does not answer`);
}

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [script('load-client.ts'), JSON.stringify(options)]);
  return JSON.parse(stdout) as LoadResult;
}
