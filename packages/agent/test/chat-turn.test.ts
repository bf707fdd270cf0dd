// The files that ARCHITECTURE.md names for a chat turn are those that one passes.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTempDir } from '@palaver/test-kit';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

/** Regular work, which runs beside a turn now and then. */
const regular = /\/(?:runs\/(?:take-over|approvals)|store\/(?:retention|instances|runs|approvals))\.ts$/;

it('a chat turn passes the files that ARCHITECTURE.md names, and no others; at most 25 of them after the edge', async () => {
  await using dir = await createTempDir();
  const process = join(import.meta.dirname, 'chat-turn-process.ts');
  const { stdout } = await promisify(execFile)('node', [process, dir.path]);
  const passed = (JSON.parse(stdout) as string[]).filter((file) => !regular.test(file));
  const [, turn = '', edge = ''] =
    /\*\*Chat turn\*\*([\s\S]*?)\nBefore the route([\s\S]*?)\n\n/.exec(
      readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'),
    ) ?? [];
  const named = (text: string) =>
    Array.from(text.matchAll(/`([\w/-]+\.ts)`/g), ([, file]) => `/packages/agent/src/${file}`);
  const ofTurn = [...new Set(named(turn))];
  expect(passed.sort()).toEqual([...ofTurn, ...named(edge)].sort());
  expect(ofTurn.length).toBeLessThanOrEqual(25);
});
