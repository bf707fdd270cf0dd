// The tutorial of docs/ussd-menus.md: every file written and every command run, in order, in an empty folder.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { toCodeBlocks } from '../../../scripts/code-blocks.ts';
import { walkGuide } from './guide.ts';

const guide = 'docs/ussd-menus.md';

test('the tutorial of programs does what it says, from an empty folder to a published program', async () => {
  await using dir = await createTempDir();
  const blocks = toCodeBlocks(guide, readFileSync(join(import.meta.dirname, '../../..', guide), 'utf8'));
  const before = process.cwd();
  process.chdir(dir.path);
  let count = 0;
  try {
    for await (const { place, command, printed, expected } of walkGuide(blocks)) {
      count++;
      if (expected !== undefined) expect(printed, `${place}: ${command}`).toMatch(toPattern(expected));
    }
  } finally {
    process.chdir(before);
  }
  expect(count).toBeGreaterThanOrEqual(12);
});

/** `…` stands for any text: within a line, or whole lines where it is all of one. */
function toPattern(expected: string): RegExp {
  const source = expected
    .trimEnd()
    .replace(/[.*+?^$()|[\]{}\\]/g, '\\$&')
    .replace(/^…$/gm, '(?:.*\\n)*?.*')
    .replaceAll('…', '.*');
  return new RegExp(`^${source}\\s*$`);
}
