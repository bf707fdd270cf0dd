// Runs a program of `tools/check`: `node scripts/tool.ts biome check`.
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { installTools } from '@palaver/test-kit/install-tools';

const [name = '', ...args] = process.argv.slice(2);
const PATH = join(installTools('check'), 'node_modules/.bin') + delimiter + process.env.PATH;
const { status } = spawnSync(name, args, {
  env: { ...process.env, PATH },
  stdio: 'inherit',
  shell: process.platform === 'win32',
});
process.exit(status ?? 1);
