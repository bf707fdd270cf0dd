import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { stories, toPath, toSvg } from './money-pictures.ts';

test('the pictures of docs/money.md are those that the script draws', async () => {
  for (const [name, story] of Object.entries(stories)) expect(await readFile(toPath(name), 'utf8')).toBe(toSvg(story));
});
