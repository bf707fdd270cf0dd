// Builds the page into the folder given as the argument (or dist/manual).
import { join } from 'node:path';
import { build } from 'vite';

const root = join(import.meta.dirname, '..');
const outDir = process.argv[2] ?? join(root, 'dist', 'manual');
await build({ root, logLevel: 'error', build: { outDir, emptyOutDir: true } });
