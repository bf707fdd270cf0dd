import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');

test('`palaver program` writes and dials a program, and says what is wrong with status 1', async () => {
  await using dir = await createTempDir();
  const palaver = (args: string[], input = '') => {
    const options = { cwd: dir.path, input, encoding: 'utf8' as const, timeout: 120_000 };
    const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, 'program', ...args], options);
    return { status, output: `${stdout}${stderr}` };
  };
  expect(palaver(['new', 'farm-line'])).toMatchObject({
    status: 0,
    output: expect.stringContaining('farm-line/program.yaml'),
  });
  const run = palaver(['run', 'farm-line', '--record', 'new-folder/exit.yaml'], '*\n');
  expect(run).toMatchObject({ status: 0, output: expect.stringContaining('2 steps written to') });
  const check = palaver(['check', 'farm', '--json']);
  expect(check.status).toBe(1);
  expect(JSON.parse(check.output)).toEqual({
    ok: false,
    faults: [{ file: 'farm', line: 1, message: 'there is no such file or folder' }],
    warnings: [],
  });
  const file = 'farm-line/program.yaml';
  expect(palaver(['new', `${file}/other`])).toMatchObject({
    status: 1,
    output: expect.stringMatching(/^farm-line\/program.yaml\/other: ENOTDIR/),
  });
  // Making a folder here fails as if the folder above were missing.
  if (process.platform === 'linux')
    for (const args of [
      ['new', '/proc/farm'],
      ['run', 'farm-line', '--record', '/proc/farm/exit.yaml'],
    ])
      expect(palaver(args)).toMatchObject({ status: 1, output: expect.stringMatching(/\/proc\/farm.* cannot be /) });
});
