import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { bundlePrograms } from './bundle-programs.ts';

test('a bundled program needs none of its modules, and all of them keep their places', async () => {
  await using dir = await createTempDir();
  const [root, program] = [dir.path, 'deep/program.ts'];
  mkdirSync(join(root, 'deep'));
  writeFileSync(join(root, 'other.ts'), 'export const places = [import.meta.url, import.meta.dirname];\n');
  const code =
    "import { places } from '../other.ts';\nconsole.log(...places, import.meta.filename, process.argv.slice(1).join());\n";
  writeFileSync(join(root, program), code);
  const option = await bundlePrograms({ root, programs: [program], folder: join(root, 'bundles') });
  rmSync(join(root, 'other.ts'));
  const main = join(root, program);
  const started = startProcess(process.execPath, [main, 'a'], { env: { NODE_OPTIONS: option } });
  expect(await started.exited).toBe(0);
  expect(started.output().trim()).toBe(`file://${root}/other.ts ${root} ${main} ${main},a`);
});
