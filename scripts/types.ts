// Type checks: everything once as Node code, then what runs in browsers without Node's types: packages that promise it, and the page.
import { spawnSync } from 'node:child_process';

for (const project of ['tsconfig.json', 'tsconfig.browser.json', 'apps/console/tsconfig.json']) {
  const { status } = spawnSync('tsc', ['-p', project], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
