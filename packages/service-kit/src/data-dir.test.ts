import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { prepareDataDir, toDatabaseUrl } from './data-dir.ts';

test.skipIf(process.platform === 'win32')(
  'the data folder is closed also where the database is elsewhere',
  async () => {
    await using dir = await createTempDir();
    const file = join(dir.path, 'operators.json');
    writeFileSync(file, '[]');
    chmodSync(file, 0o644);
    chmodSync(dir.path, 0o755);
    const url = 'postgres://127.0.0.1/palaver';
    expect(toDatabaseUrl({ DATABASE_URL: url, DATA_DIR: dir.path }, 'ussd')).toBe(url);
    expect([dir.path, file].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
    expect(toDatabaseUrl({ DATABASE_URL: url, DATA_DIR: join(dir.path, 'missing') }, 'ussd')).toBe(url);
  },
);

test.skipIf(process.platform !== 'linux')('a data folder that cannot be made is refused', () => {
  expect(() => prepareDataDir('/proc/palaver/data')).toThrow(
    'The data folder /proc/palaver/data cannot be written to (ENOENT); set DATA_DIR to one that can.',
  );
});
