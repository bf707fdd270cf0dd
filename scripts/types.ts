// Type checks: everything once as Node code, then the packages that promise to run in browsers without Node's types.
import { spawnSync } from 'node:child_process';

for (const project of ['tsconfig.json', 'tsconfig.browser.json']) {
  const { status } = spawnSync('tsc', ['-p', project], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
