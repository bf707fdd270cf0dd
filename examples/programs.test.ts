import { fileURLToPath } from 'node:url';
import { testPrograms } from '@palaver/ussd/commands/test-programs';
import { expect, test } from 'vitest';

test('the programs of this folder pass their own tests', async () => {
  const { ok, lines } = await testPrograms({ folder: fileURLToPath(new URL('.', import.meta.url)) });
  expect(lines.filter((line) => !line.startsWith('ok'))).toEqual([]);
  expect(ok).toBe(true);
  for (const name of ['price-list', 'savings-group', 'household-survey'])
    expect(lines.some((line) => line.includes(`/${name}/flows/`))).toBe(true);
});
