import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installTools } from '@palaver/test-kit/install-tools';
import { build, type Rolldown } from 'vite';

const root = fileURLToPath(new URL('page', import.meta.url));
const reactFolders = {
  18: join(installTools('test'), 'node_modules'),
  19: fileURLToPath(new URL('../../../node_modules', import.meta.url)),
};

export type ReactVersion = keyof typeof reactFolders;

/** The files of the test page, built with one version of React from the library's sources. */
export async function buildPage(version: ReactVersion): Promise<Map<string, string | Uint8Array>> {
  const folder = reactFolders[version];
  const { output } = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"development"' },
    resolve: {
      alias: [
        { find: /^react($|\/)/, replacement: `${folder}/react$1` },
        { find: /^react-dom($|\/)/, replacement: `${folder}/react-dom$1` },
      ],
    },
    oxc: { jsx: { runtime: 'automatic' } },
    build: {
      write: false,
      minify: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: { input: ['index', 'guest', 'older', 'ui'].map((name) => `${root}/${name}.html`) },
    },
  })) as Rolldown.RolldownOutput;
  return new Map(output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source]));
}
