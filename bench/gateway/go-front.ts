// The chain's own stack as an optional peer: built from Go modules when Go is on the machine (Linux, for its CPU time).
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Bench, Program } from '../harness.ts';
import { protoFolder } from './answers.ts';

const cwd = fileURLToPath(new URL('go-front', import.meta.url));
const program = fileURLToPath(new URL('../../node_modules/.cache/palaver-bench/go-front', import.meta.url));

/** The front, or why there is none. */
export async function startGoFront(bench: Bench, upstream: string): Promise<Program | string> {
  if (process.platform !== 'linux') return 'its CPU time is only read on Linux';
  mkdirSync(join(cwd, 'query'), { recursive: true });
  for (const args of [
    ['run', './generate', protoFolder, 'query'],
    ['build', '-o', program, '.'],
  ]) {
    const { error, status, stderr } = spawnSync('go', args, { cwd, encoding: 'utf8' });
    if (error) return 'Go is not on the PATH';
    if (status !== 0) return `go ${args[0]} failed: ${stderr.trim().split('\n').at(-1)}`;
  }
  const child = spawn(program, [upstream], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const url of createInterface(child.stdout)) return bench.adopt(child, url);
  return 'it ended before it listened';
}
