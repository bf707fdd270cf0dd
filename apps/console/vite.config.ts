import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';
import { programTexts } from './web/i18n/program-texts.ts';

/** Packages that do not say themselves that their modules only export. */
const pureModules = /node_modules\/(multiformats|yaml|@ipld|@ucanto)\//;

/** `en.json?programs` has the texts of the pages of programs, `en.json?others` the rest. */
const splitTexts: Plugin = {
  name: 'split-texts',
  load(id) {
    const [, path, part] = /^(.+\.json)\?(programs|others)$/.exec(id) ?? [];
    if (!path) return undefined;
    const texts = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as object);
    const own = texts.filter(([key]) => programTexts.test(key) === (part === 'programs'));
    return { code: `export default ${JSON.stringify(Object.fromEntries(own))}`, moduleType: 'js' };
  },
};

export default defineConfig({
  plugins: [splitTexts],
  base: '/',
  define: { 'process.env.NODE_ENV': '"production"' },
  // Whatever NODE_ENV is: development code names the files it was built from.
  oxc: { jsx: { runtime: 'automatic', development: false } },
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { treeshake: { moduleSideEffects: [{ test: pureModules, sideEffects: false }] } },
  },
});
