import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toCodeBlocks } from '../guides/code-blocks.ts';

interface Guide {
  /** The code of each file that the guide shows, by its name. */
  files: Map<string, string>;
  /** The lines of each block of commands, in the order of the guide; continued lines are joined. */
  commands: string[][];
}

export function readGuide(path: string): Guide {
  const blocks = toCodeBlocks(path, readFileSync(join(import.meta.dirname, '../..', path), 'utf8'));
  const files = blocks.flatMap(({ language, name, code }) =>
    language === 'ts' && name ? [[name, code] as const] : [],
  );
  const commands = blocks.filter(({ language }) => language === 'sh').map(({ code }) => toLines(code));
  return { files: new Map(files), commands };
}

function toLines(code: string): string[] {
  const lines = code.replaceAll('\\\n', '').trim().split('\n');
  return lines.map((line) => line.replace(/ {2,}# .*$/, ''));
}
