import { spawnSync } from 'node:child_process';
import { cp, glob, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type InlineConfig, type Rolldown } from 'vite';
import { toPublishedManifest } from '../../../scripts/published-manifest.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const entries = [
  'src/ui/index.ts',
  'src/index.ts',
  'src/core/index.ts',
  'src/element/index.ts',
  'src/live-agent/index.ts',
  'src/testing/index.ts',
  'src/wallet/index.ts',
];

/** Writes `dist`: each source file with its source map and declarations; and `dist/web`, for pages without a build step. */
export async function buildPackage(): Promise<void> {
  await rm(`${root}dist`, { recursive: true, force: true });
  await buildModules();
  await buildElement();
  await cp(`${root}src/ui/ui.css`, `${root}dist/ui/ui.css`);
  await writeFile(`${root}dist/ui/ui.d.ts`, 'declare const css: string;\nexport default css;\n');
  const { status } = spawnSync('tsc', ['-p', 'tsconfig.build.json', '--outDir', 'dist'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the declarations could not be written');
  for await (const file of glob(`${root}dist/**/*.d.ts`)) await nameJavaScript(file);
}

export async function copyPublished(folder: string): Promise<void> {
  await cp(`${root}dist`, `${folder}/dist`, { recursive: true });
  const [development, shared] = await Promise.all(
    [root, `${root}../../`].map(async (from) => JSON.parse(await readFile(`${from}package.json`, 'utf8'))),
  );
  const published = toPublishedManifest(development, 'packages/oracles-client-sdk', shared);
  await writeFile(`${folder}/package.json`, JSON.stringify(published));
}

/** Returns the packed file; `dist` has to be built. */
export async function packPublished(folder: string): Promise<string> {
  await copyPublished(folder);
  const { stdout } = spawnSync('npm', ['pack', '--ignore-scripts', '--json'], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  return join(folder, JSON.parse(stdout)[0].filename);
}

/** `use client` stays where every module is a file of its own, and means nothing in a script of a page. */
const onLog: Rolldown.RolldownOptions['onLog'] = (level, log, print) =>
  log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : print(level, log);

const shared: InlineConfig = {
  root,
  configFile: false,
  logLevel: 'warn',
  // Whatever NODE_ENV is: development code names the files it was built from.
  oxc: { jsx: { runtime: 'automatic', development: false } },
};

async function buildElement(): Promise<void> {
  await build({
    ...shared,
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      target: 'es2022',
      outDir: 'dist/web',
      modulePreload: false,
      rolldownOptions: {
        input: 'src/element/register.ts',
        onLog,
        output: { entryFileNames: 'palaver-chat.js', chunkFileNames: '[name].js' },
      },
    },
  });
}

async function buildModules(): Promise<void> {
  await build({
    ...shared,
    build: {
      target: 'es2022',
      minify: false,
      sourcemap: true,
      lib: { entry: entries, formats: ['es'] },
      rolldownOptions: {
        external: [/^[^./]/],
        onLog,
        output: { preserveModules: true, preserveModulesRoot: 'src', entryFileNames: '[name].js' },
      },
    },
  });
}

/** Declarations are written with the sources' `.ts` in their imports; published ones name what is there to be imported. */
async function nameJavaScript(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/((?:from|import\()\s*['"]\.[^'"]*)\.tsx?(['"])/g, '$1.js$2'));
}
