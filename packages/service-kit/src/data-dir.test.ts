import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { loadOrCreateSecretFile, prepareDataDir, toDatabaseUrl } from './data-dir.ts';

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

test('the secret is made once, with mode 0600, and read again', async () => {
  await using dir = await createTempDir();
  const path = join(dir.path, 'key');
  expect(loadOrCreateSecretFile(path, () => 'first')).toEqual({ secret: 'first', created: true });
  expect(loadOrCreateSecretFile(path, () => 'second')).toEqual({ secret: 'first', created: false });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('processes that start together agree on one secret', async () => {
  await using dir = await createTempDir();
  const script = `
    import { loadOrCreateSecretFile } from '${import.meta.dirname}/data-dir.ts';
    console.log(loadOrCreateSecretFile('${join(dir.path, 'key')}', () => String(process.pid)).secret);`;
  const runs = Array.from({ length: 6 }, () => startProcess(process.execPath, ['--input-type=module', '-e', script]));
  expect(await Promise.all(runs.map((run) => run.exited))).toEqual([0, 0, 0, 0, 0, 0]);
  expect(new Set(runs.map((run) => run.output().trim())).size).toBe(1);
});

test('a data folder that cannot be written to is one sentence', async () => {
  expect(() => prepareDataDir('/dev/null/data')).toThrow(
    'The data folder /dev/null/data cannot be written to (ENOTDIR); set DATA_DIR to one that can.',
  );
});

test('each service has a file of its own unless DATABASE_URL says otherwise', async () => {
  await using dir = await createTempDir();
  expect(toDatabaseUrl({ DATA_DIR: dir.path, DATABASE_URL: undefined }, 'ussd')).toBe(`file:${dir.path}/ussd.sqlite`);
  expect(toDatabaseUrl({ DATA_DIR: dir.path, DATABASE_URL: 'postgres://db/x' }, 'ussd')).toBe('postgres://db/x');
});

test.skipIf(process.platform === 'win32')(
  'a folder of every user of the machine is refused, and left as it is',
  async () => {
    await using dir = await createTempDir();
    chmodSync(dir.path, 0o1777);
    expect(() => prepareDataDir(dir.path)).toThrow('is shared with other users; set DATA_DIR to one of its own.');
    expect(statSync(dir.path).mode & 0o7777).toBe(0o1777);
  },
);
