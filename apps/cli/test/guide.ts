import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { StartError } from '@palaver/service-kit';
import { startUssd } from '@palaver/ussd';
import { vi } from 'vitest';
import type { CodeBlock } from '../../../scripts/code-blocks.ts';
import { createProgram } from '../src/create-program.ts';

/** A command of a guide, what it printed, and what the guide says it prints. */
export interface GuideStep {
  place: string;
  command: string;
  printed: string;
  /** `…` stands for any text of a line. */
  expected: string | undefined;
}

/** Does what a guide says, block by block, in the current folder: writes its files and runs its commands. */
export async function* walkGuide(blocks: readonly CodeBlock[]): AsyncGenerator<GuideStep> {
  await using stack = new AsyncDisposableStack();
  let url = '';
  for (const [index, { place, language, name, isAdded, code }] of blocks.entries()) {
    if (name !== undefined) {
      mkdirSync(dirname(name), { recursive: true });
      (isAdded ? appendFileSync : writeFileSync)(name, code);
    }
    if (language !== 'sh') continue;
    const next = blocks[index + 1];
    const expected = next?.language === 'txt' ? next.code : undefined;
    for (const command of code.trim().split('\n')) {
      const [program, ...args] = Array.from(
        command.matchAll(/"([^"]*)"|(\S+)/g),
        ([, quoted, plain]) => quoted ?? plain ?? '',
      );
      if (program === 'npm') continue;
      if (args.join(' ') === 'palaver ussd') {
        const service = await startUssd({ PORT: '0', LOG_LEVEL: 'silent' });
        stack.defer(() => service.close());
        url = service.url;
        continue;
      }
      const typed = Array.from((expected ?? '').matchAll(/^> (.*)$/gm), ([, input = '']) => input);
      const own = args[1] === 'dial' ? [...args.slice(1), url] : args.slice(1);
      yield { place, command, printed: await run(own, typed), expected };
    }
  }
}

/** Runs `palaver` in this process, with these lines at standard input; gives what a terminal shows. */
async function run(args: string[], typed: readonly string[]): Promise<string> {
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
  const inputs = typed.values();
  return printed.replace(/^> /gm, () => `> ${inputs.next().value ?? ''}\n`);
}
