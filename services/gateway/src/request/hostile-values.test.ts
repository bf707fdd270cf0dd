import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const parser = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);

// In a process that can be killed: a pattern that backtracks would hold the test itself.
test.each([
  [
    'a duration',
    `const { parseWellKnown } = await import(${parser('./parse-value.ts')});
     const { DurationSchema } = await import('@bufbuild/protobuf/wkt');
     const good = parseWellKnown(DurationSchema, '1h11m11.5s');
     const bad = parseWellKnown(DurationSchema, '11m'.repeat(2000) + 'x');`,
  ],
  [
    'a number',
    `const { parseScalar } = await import(${parser('./parse-value.ts')});
     const good = parseScalar(1, '11.5e3');
     const bad = parseScalar(1, '1'.repeat(100_000) + 'x');`,
  ],
])('%s as long as a URL allows is refused at once', async (_what, program) => {
  const print = `console.log('value' in good, 'fault' in bad);`;
  const args = ['--input-type=module', '-e', `${program}\n${print}`];
  const { stdout } = await run(process.execPath, args, { timeout: 60_000, cwd: import.meta.dirname });
  expect(stdout.trim()).toBe('true true');
});
