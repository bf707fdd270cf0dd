// Asks "Are the types wrong?" whether every ESM consumer gets its types. `require` is not promised, by decision.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installTools } from '@palaver/test-kit/install-tools';
import { buildPackage, packPublished } from './build-package.ts';

const attw = join(installTools('check'), 'node_modules/@arethetypeswrong/cli/dist/index.js');
await buildPackage();
const folder = mkdtempSync(join(tmpdir(), 'palaver-package-'));
const packed = await packPublished(folder);
const options = '--profile esm-only --format ascii --exclude-entrypoints ui.css palaver-chat.js'.split(' ');
const { status } = spawnSync(process.execPath, [attw, packed, ...options], { stdio: 'inherit' });
rmSync(folder, { recursive: true });
process.exit(status ?? 1);
