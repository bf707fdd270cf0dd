// The files that ARCHITECTURE.md names for a key press are those that one passes.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTempDir } from '@palaver/test-kit';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

/** Regular work, and rows that are written after the reply: they run beside a key press now and then. */
const beside =
  /\/(?:outgoing\/|calls\/sweeper|store\/(?:sweep-statements|notices|tables)|catalog\/(?:published|load-all)|people\/|money\/|operators\/)/;

it('a key press passes the files that ARCHITECTURE.md names, and no others', async () => {
  await using dir = await createTempDir();
  const process = join(import.meta.dirname, 'key-press-process.ts');
  const { stdout } = await promisify(execFile)('node', [process, dir.path]);
  const passed = (JSON.parse(stdout) as string[]).filter((file) => !beside.test(file));
  const [, service = '', language = ''] =
    /A key press on a menu passes([\s\S]*?)and in `packages\/program\/src`:([\s\S]*?)\n\n/.exec(
      readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'),
    ) ?? [];
  const named = (text: string, folder: string) =>
    Array.from(text.matchAll(/`([\w/-]+\.ts)`/g), ([, file = '']) => `/${folder}/src/${file}`);
  const all = [...named(service, 'services/ussd'), ...named(language, 'packages/program')];
  expect(passed.sort()).toEqual(all.sort());
});
