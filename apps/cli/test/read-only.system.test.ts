import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempDir, freePort, startProcess } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { services } from '../src/services.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const nobody = 65_534;
const mayMount = spawnSync('unshare', ['-m', 'setpriv', '--reuid', String(nobody), 'true']).status === 0;

// As in a container with a read-only root file system, or under systemd's ProtectSystem=strict.
test('runs as a user without rights on a read-only tree, and builds its page into the data folder', async ({
  skip,
}) => {
  if (!mayMount) skip('a read-only mount needs root, unshare and setpriv');
  await using dir = await createTempDir();
  chmodSync(dir.path, 0o755);
  const [app, data] = [join(dir.path, 'app'), join(dir.path, 'data')];
  mkdirSync(app);
  mkdirSync(data);
  chownSync(data, nobody, nobody);
  const ports = Object.fromEntries(
    await Promise.all(Object.values(services).map(async ({ portName }) => [portName, String(await freePort())])),
  );
  mkdirSync(join(root, 'apps/console/dist'), { recursive: true });
  // An empty folder covers the page that other tests may have built.
  const script = `
    mount --bind "${root}" "${app}" && mount -t tmpfs none "${app}/apps/console/dist" -o ro &&
    mount -o remount,ro,bind "${app}" && cd "${app}" &&
    exec setpriv --reuid ${nobody} --regid ${nobody} --clear-groups --no-new-privs --inh-caps=-all \
      "${app}/${process.execPath.slice(root.length)}" apps/cli/bin/palaver.js up`;
  // The user need not be able to read the checkout itself, where the suite's module loader is.
  const env = { ...ports, DATA_DIR: data, HOME: '/', NODE_OPTIONS: undefined };
  const child = startProcess('unshare', ['-m', 'sh', '-c', script], { env });
  await child.printed('Ctrl-C stops everything.');
  const page = await fetch(`http://127.0.0.1:${ports.CONSOLE_PORT}/`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root">')]);
  expect(readdirSync(join(data, 'console-page'))).toHaveLength(1);
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
});
