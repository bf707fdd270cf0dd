import { fileURLToPath } from 'node:url';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { expect, it } from 'vitest';

it.each(['market-prices', 'harvest-diary'])('%s starts, converses and ends well', async (name) => {
  await using dir = await createTempDir();
  const file = fileURLToPath(new URL(`${name}/agent.ts`, import.meta.url));
  const program = startProcess(process.execPath, [file], { env: { DATA_DIR: dir.path } });
  const code = await program.exited;
  expect(program.output()).toContain('listens at http://127.0.0.1:');
  expect(code, program.output()).toBe(0);
});
