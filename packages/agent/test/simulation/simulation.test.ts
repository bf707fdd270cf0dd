import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

// In processes of its own: it replaces clocks and timers.
const run = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], { encoding: 'utf8' }).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  );

it('no schedule of the simulation loses, doubles or hangs a run', async () => {
  const { stdout } = await run('--seeds', '100');
  expect(stdout).toContain('No violation.');
});

it('a seed is always the same schedule', async () => {
  const [first, second] = await Promise.all([run('--seed', '11'), run('--seed', '11')]);
  expect(first.stdout).toEqual(second.stdout);
  expect(first.stdout).toContain('complete of run 1');
});
