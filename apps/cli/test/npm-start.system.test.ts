import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { services } from '../src/services.ts';

const root = join(import.meta.dirname, '../../..');

/** The processes that a process has started, and those that they have. */
function descendantsOf(pid: number): number[] {
  const parents = readdirSync('/proc').flatMap((name) => {
    try {
      // The name of the program is in brackets and may hold anything.
      const [, parent] = readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\)/s, '').trim().split(' ');
      return [[Number(name), Number(parent)] as const];
    } catch {
      return []; // not a process, or one that has just ended
    }
  });
  const children = parents.filter(([, parent]) => parent === pid).map(([child]) => child);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

const isAlive = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, '').trim()[0] !== 'Z';
  } catch {
    return false;
  }
};

test.runIf(process.platform === 'linux')('SIGTERM to npm start ends palaver up and every process of it', async () => {
  await using dir = await createTempDir();
  const ports = await Promise.all(Object.values(services).map(async ({ portName }) => [portName, await freePort()]));
  const env = { ...Object.fromEntries(ports.map(([name, port]) => [name, String(port)])), DATA_DIR: dir.path };
  const npm = startProcess('npm', ['start'], { cwd: root, env: { LOG_LEVEL: 'warn', ...env } });
  await npm.printed('Ctrl-C stops everything.');
  const own = descendantsOf(npm.child.pid ?? 0);
  try {
    expect(own.length).toBeGreaterThan(0);
    const ended = once(npm.child, 'exit');
    npm.child.kill('SIGTERM');
    await ended;
    await waitFor('the end of every process', () => !own.some(isAlive), 30_000);
    for (const [, port] of ports) await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow();
    expect(npm.output()).toContain('SIGTERM: stopping');
  } finally {
    for (const pid of own.filter(isAlive)) process.kill(pid, 'SIGKILL');
  }
});
