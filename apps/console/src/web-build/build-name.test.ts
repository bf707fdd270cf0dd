import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { fingerprint } from './build-name.ts';

test('a fingerprint follows the content and the names, not the times; tests do not count', async () => {
  await using dir = await createTempDir();
  await mkdir(join(dir.path, 'src/deep'), { recursive: true });
  const file = join(dir.path, 'src/deep/a.ts');
  await writeFile(file, 'one');
  await writeFile(join(dir.path, 'index.html'), '<p>');
  const take = () => fingerprint(dir.path, ['src', 'index.html']);
  const first = take();
  await utimes(file, 1, 1);
  await writeFile(join(dir.path, 'src/a.test.ts'), 'a test');
  expect(take()).toBe(first);
  await writeFile(file, 'two');
  const second = take();
  expect(second).not.toBe(first);
  await writeFile(join(dir.path, 'src/b.ts'), '');
  expect(take()).not.toBe(second);
});
