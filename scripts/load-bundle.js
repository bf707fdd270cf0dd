// Given to Node by `--import`: a program's main module is read from its bundle. Plain JavaScript, which is loaded faster.
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const { root, folder } = Object.fromEntries(new URL(import.meta.url).searchParams);

function load(url, context, next) {
  const bundle = url.startsWith('file:') && join(folder, `${relative(root, fileURLToPath(url))}.js`);
  if (!bundle || !existsSync(bundle)) return next(url, context);
  return { format: 'module', source: readFileSync(bundle), shortCircuit: true };
}

// Programs are not loaded in threads.
if (isMainThread) registerHooks({ load });
