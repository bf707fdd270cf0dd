// Prepares the package in the current folder for publishing. `npm pack` and `npm publish` call it before and after:
// development runs the `.ts` sources, a published package is plain JavaScript with declarations and source maps.
//   node ../../scripts/build-package.ts            writes `dist`, LICENSE and the published package.json
//   node ../../scripts/build-package.ts --built    the same with the `dist` that is there
//   node ../../scripts/build-package.ts --restore  puts the package.json of development back
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type Manifest, type Shared, toPublishedManifest } from './published-manifest.ts';

const root = join(import.meta.dirname, '..');
const manifestFile = 'package.json';
const developmentFile = 'package.development.json';

await restore();
if (!process.argv.includes('--restore')) {
  if (!process.argv.includes('--built')) await compile();
  const manifest = readJson<Manifest>(manifestFile);
  await cp(join(root, 'LICENSE'), 'LICENSE');
  const folder = relative(root, process.cwd()).split(sep).join('/');
  const published = toPublishedManifest(manifest, folder, readJson<Shared>(join(root, manifestFile)));
  await rename(manifestFile, developmentFile);
  await writeFile(manifestFile, `${JSON.stringify(published, undefined, 2)}\n`);
}

/** Also repairs a folder that an interrupted `npm pack` has left behind. */
async function restore(): Promise<void> {
  if (!existsSync(developmentFile)) return;
  await rename(developmentFile, manifestFile);
  await rm('LICENSE', { force: true });
}

async function compile(): Promise<void> {
  await rm('dist', { recursive: true, force: true });
  await mkdir('dist');
  const project = join('dist', 'tsconfig.json');
  await writeFile(
    project,
    JSON.stringify({
      extends: join(root, 'tsconfig.build.json'),
      // Types are checked once for the whole repository, by `npm run types`.
      compilerOptions: { rootDir: '../src', outDir: '.', noCheck: true },
      include: ['../src'],
      exclude: ['../src/**/*.test.ts', '../src/**/*.test-d.ts'],
    }),
  );
  const { status } = spawnSync('tsc', ['-p', project], {
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
  await rm(project);
  for await (const file of glob('dist/**/*.d.ts')) await nameJavaScript(file);
}

/** The compiler leaves `.ts` in the imports of declarations; published ones name the JavaScript files. */
async function nameJavaScript(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/((?:from|import\(|declare module)\s*['"]\.[^'"]*)\.tsx?(['"])/g, '$1.js$2'));
}

function readJson<Content>(file: string): Content {
  return JSON.parse(readFileSync(file, 'utf8')) as Content;
}
