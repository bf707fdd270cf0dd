import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { checkMenuFiles, drawMenuFiles } from './check-menu-files.ts';

test('the bundled menus are told to be right, and drawn in a language', async () => {
  expect(await checkMenuFiles({})).toEqual({
    ok: true,
    lines: [expect.stringMatching(/^\d+ states, 3 languages \(en, fr, sw\): no faults$/)],
  });
  const drawn = await drawMenuFiles({}, 'sw');
  expect(drawn.lines[0]).toContain('preMenu["preMenu: Karibu Palaver"]');
});

test('faults are told with file, line and state', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'menu.yaml');
  writeFileSync(
    file,
    'start: a\nexit: b\nstates:\n  a: { kind: menu, text: main.title, options: [{ key: 1, text: main.about, to: c }] }\n  b: { kind: end, text: main.goodbye }\n',
  );
  expect(await checkMenuFiles({ menus: file })).toEqual({
    ok: false,
    lines: [`${file}:4: state a: leads to c, which does not exist`],
  });
  expect((await drawMenuFiles({ menus: file })).ok).toBe(false);
});
