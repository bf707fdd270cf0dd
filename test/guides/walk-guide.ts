import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CodeBlock } from './code-blocks.ts';

/** A command of a guide, what it printed, and what the guide says it prints. */
export interface GuideStep {
  place: string;
  command: string;
  printed: string;
  /** Undefined if the guide does not say. */
  expected: RegExp | undefined;
}

export interface GuideShell {
  /** Runs `palaver` with these lines at standard input; gives what it prints. */
  run(args: readonly string[], typed: readonly string[]): Promise<string>;
  /** Starts `palaver ussd` and gives its address. */
  serve(): Promise<string>;
}

/** Does what a guide says in a folder, block by block: writes its files and runs its commands but `npm install`. */
export async function* walkGuide(
  blocks: readonly CodeBlock[],
  folder: string,
  shell: GuideShell,
): AsyncGenerator<GuideStep> {
  let url = '';
  for (const [index, { place, language, name, isAdded, code }] of blocks.entries()) {
    if (name !== undefined) {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      (isAdded ? appendFileSync : writeFileSync)(file, code);
    }
    if (language !== 'sh') continue;
    const next = blocks[index + 1];
    const shown = next?.language === 'txt' ? next.code : undefined;
    for (const command of code.trim().split('\n')) {
      const [program, , ...args] = Array.from(
        command.matchAll(/"([^"]*)"|(\S+)/g),
        ([, quoted, plain]) => quoted ?? plain ?? '',
      );
      if (program === 'npm') continue;
      if (args.join(' ') === 'ussd') {
        url = await shell.serve();
        continue;
      }
      const typed = Array.from((shown ?? '').matchAll(/^> (.*)$/gm), ([, input = '']) => input);
      const printed = await shell.run(args[0] === 'dial' ? [...args, url] : args, typed);
      const inputs = typed.values();
      yield {
        place,
        command,
        printed: printed.replace(/^> /gm, () => `> ${inputs.next().value ?? ''}\n`),
        expected: shown === undefined ? undefined : toPattern(shown),
      };
    }
  }
}

/** `…` stands for any text: within a line, or whole lines where it is all of one. */
function toPattern(shown: string): RegExp {
  const source = shown
    .trimEnd()
    .replace(/[.*+?^$()|[\]{}\\]/g, '\\$&')
    .replace(/^…$/gm, '(?:.*\\n)*?.*')
    .replaceAll('…', '.*');
  return new RegExp(`^${source}\\s*$`);
}
