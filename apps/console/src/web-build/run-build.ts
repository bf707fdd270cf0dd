// Builds the page into the folder given as the argument, or to where the console looks for it.
import { join } from 'node:path';
import { build } from 'vite';
import { buildName, dist } from './build-name.ts';

const root = join(import.meta.dirname, '../..');
const outDir = process.argv[2] ?? join(dist, buildName());
// The native loader: Vite's own writes a temporary file into the tree, which may be read-only.
await build({ root, configLoader: 'native', logLevel: 'error', build: { outDir, emptyOutDir: true } });
