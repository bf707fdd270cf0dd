// Checks everything as Node code, then the packages that run in browsers without Node's types, then the console's page.
import { spawnSync } from 'node:child_process';

for (const project of ['tsconfig.json', 'tsconfig.browser.json', 'apps/console']) {
  const { status } = spawnSync('tsc', ['-p', project], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
