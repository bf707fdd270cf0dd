import { join } from 'node:path';
import { startAgent } from '@palaver/agent-service';
import { createTempDir, createTestDatabase, engines, startProcess } from '@palaver/test-kit';
import { startUssd } from '@palaver/ussd';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');

test.each(engines)('services with MIGRATE_ON_START=false start on %s only after palaver migrate', async (engine) => {
  await using dir = await createTempDir();
  await using database = await createTestDatabase(engine);
  const env = {
    PORT: '0',
    DATA_DIR: dir.path,
    DATABASE_URL: database.url,
    LOG_LEVEL: 'silent',
    MIGRATE_ON_START: 'false',
    CREDITS_ENABLED: 'true',
    USSD_WATCH_MENUS: 'false',
  };
  for (const start of [startUssd, startAgent]) await expect(start(env)).rejects.toThrow('run: palaver migrate');
  const migrated = startProcess(process.execPath, [launcher, 'migrate'], { cwd: dir.path, env });
  expect([await migrated.exited, migrated.output()]).toEqual([0, 'The databases are up to date.\n']);
  for (const start of [startUssd, startAgent]) await (await start(env)).close();
});
