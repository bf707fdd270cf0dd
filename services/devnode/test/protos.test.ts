import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { descriptorsUrl } from '../protocol.ts';

test('descriptors.binpb is what `npm run protos` makes of the .proto files', async () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const args = ['build', 'services/devnode/protos', '--as-file-descriptor-set', '--exclude-source-info', '-o', '-'];
  const { stdout } = await promisify(execFile)('node_modules/.bin/buf', args, { cwd: root, encoding: 'buffer' });
  expect(stdout.equals(await readFile(descriptorsUrl)), 'run `npm run protos -w services/devnode`').toBe(true);
});
