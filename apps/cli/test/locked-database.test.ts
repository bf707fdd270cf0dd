import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');

test.each(['ussd', 'agent'])(
  '/health of %s says that another process holds the lock of its SQLite database',
  async (service) => {
    await using dir = await createTempDir();
    const path = join(dir.path, 'own.sqlite');
    const port = String(await freePort());
    const child = startProcess(process.execPath, [launcher, service], {
      cwd: dir.path,
      env: { PORT: port, DATABASE_URL: `file:${path}`, LOG_LEVEL: 'info' },
    });
    try {
      await child.printed('listening on');
      const health = async (route = '/health') => {
        const reply = await fetch(`http://127.0.0.1:${port}${route}`);
        return { status: reply.status, body: await reply.json() };
      };
      expect(await health()).toMatchObject({ status: 200, body: { status: 'ok' } });
      using other = new DatabaseSync(path);
      other.exec('begin immediate');
      expect(await health()).toMatchObject({
        status: 503,
        body: {
          status: 'degraded',
          lock: 'held by another process',
          impaired: ['Nothing can be stored: another process holds the lock of the SQLite database.'],
        },
      });
      expect((await health('/ready')).status).toBe(503);
      other.exec('rollback');
      await waitFor('health to be well again', async () => (await health()).status === 200);
    } finally {
      child.kill();
      await child.exited;
    }
  },
);
