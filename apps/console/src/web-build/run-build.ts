// Builds the page into the folder given as the argument, or to where the console looks for it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'vite';
import { buildName, dist } from './build-name.ts';

const root = join(import.meta.dirname, '../..');
const outDir = process.argv[2] ?? join(dist, buildName());
// The native loader: Vite's own writes a temporary file into the tree, which may be read-only.
await build({ root, configLoader: 'native', logLevel: 'error', build: { outDir, emptyOutDir: true } });

// Compressed here, once: it takes a second, and saves a tenth of what gzip leaves. The highest level takes three.
const params = { [constants.BROTLI_PARAM_QUALITY]: 10 };
const assets = join(outDir, 'assets');
for (const name of readdirSync(assets).filter((each) => /\.(js|css)$/.test(each)))
  writeFileSync(join(assets, `${name}.br`), brotliCompressSync(readFileSync(join(assets, name)), { params }));
