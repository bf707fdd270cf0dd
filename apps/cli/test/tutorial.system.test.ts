// The tutorial of docs/ussd-menus.md: every file written and every command run, in order, in an empty folder.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { StartError } from '@palaver/service-kit';
import { createTempDir } from '@palaver/test-kit';
import { startUssd } from '@palaver/ussd';
import { expect, test, vi } from 'vitest';
import { toCodeBlocks } from '../../../test/guides/code-blocks.ts';
import { walkGuide } from '../../../test/guides/walk-guide.ts';
import { createProgram } from '../src/create-program.ts';

const guide = 'docs/ussd-menus.md';

test('the tutorial of programs does what it says, from an empty folder to a published program', async () => {
  await using dir = await createTempDir();
  await using stack = new AsyncDisposableStack();
  const serve = async () => {
    const service = await startUssd({ PORT: '0', LOG_LEVEL: 'silent' });
    stack.defer(() => service.close());
    return service.url;
  };
  const blocks = toCodeBlocks(guide, readFileSync(join(import.meta.dirname, '../../..', guide), 'utf8'));
  const before = process.cwd();
  process.chdir(dir.path);
  let count = 0;
  try {
    for await (const { place, command, printed, expected } of walkGuide(blocks, dir.path, { run, serve })) {
      count++;
      if (expected) expect(printed, `${place}: ${command}`).toMatch(expected);
    }
  } finally {
    process.chdir(before);
  }
  expect(count).toBeGreaterThanOrEqual(12);
});

/** Runs `palaver` in this process. */
async function run(args: readonly string[], typed: readonly string[]): Promise<string> {
  let printed = '';
  const write = (text: string | Uint8Array) => {
    printed += text;
    return true;
  };
  const spies = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
  for (const spy of spies) spy.mockImplementation(write);
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  Object.defineProperty(process, 'stdin', {
    value: Readable.from(typed.map((line) => `${line}\n`)),
    configurable: true,
  });
  try {
    await createProgram().parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    printed += `${error.message}\n`;
  } finally {
    process.exitCode = undefined;
    Object.defineProperty(process, 'stdin', stdin);
    for (const spy of spies) spy.mockRestore();
  }
  return printed;
}
