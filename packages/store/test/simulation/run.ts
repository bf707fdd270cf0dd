import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const main = join(import.meta.dirname, '../../../../scripts/simulate.ts');

/** What `npm run simulate` prints. It replaces clocks and timers, so it has processes of its own. */
export async function simulate(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args], { encoding: 'utf8' }).catch(
    (error: { stdout: string }) => error,
  );
  return stdout;
}
