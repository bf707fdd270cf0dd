import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, freePort, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');
const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);

/** Runs the services under a generous umask until they answer, and gives the modes of the folder and what is in it. */
async function modesAfterStart(folder: string): Promise<Record<string, string>> {
  const ports = { USSD_PORT: '0', AGENT_PORT: '0', DEVNODE_PORT: '0', CONSOLE_PORT: '0' };
  const env = { ...process.env, ...ports, GATEWAY_PORT: String(await freePort()), DATA_DIR: folder, LOG_LEVEL: 'warn' };
  const child = spawn('sh', ['-c', 'umask 000; exec "$0" "$@"', process.execPath, launcher, 'up'], { env });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  try {
    await waitFor('the services', async () => output.includes('Ctrl-C stops everything.'));
    const entries = readdirSync(folder).map((name) => [name, modeOf(join(folder, name))]);
    return Object.fromEntries([['.', modeOf(folder)], ...entries]);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

test.skipIf(process.platform === 'win32')(
  'the data folder and every file in it are for their owner alone, also when they were there before',
  async () => {
    await using dir = await createTempDir();
    const fresh = join(dir.path, 'fresh');
    const first = await modesAfterStart(fresh);
    const files = Object.keys(first).filter((name) => name !== '.');
    for (const name of ['ussd.sqlite', 'ussd.sqlite-wal', 'ussd.sqlite-shm', 'agent.sqlite', 'agent.key'])
      expect(files).toContain(name);
    expect(first).toEqual({ '.': '700', ...Object.fromEntries(files.map((name) => [name, '600'])) });

    chmodSync(fresh, 0o755);
    for (const name of readdirSync(fresh)) chmodSync(join(fresh, name), 0o644);
    mkdirSync(join(fresh, 'mine'));
    writeFileSync(join(fresh, 'mine.txt'), '');
    chmodSync(join(fresh, 'mine.txt'), 0o644);
    const { 'mine.txt': other, mine, ...second } = await modesAfterStart(fresh);
    expect(second).toEqual({
      '.': '700',
      ...Object.fromEntries(
        Object.keys(second)
          .slice(1)
          .map((name) => [name, '600']),
      ),
    });
    expect(other).toBe('644');
  },
);
