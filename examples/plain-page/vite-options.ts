import { fileURLToPath } from 'node:url';
import type { InlineConfig } from 'vite';

/** How the page is built or served: from the sources of our packages. */
export const viteOptions: InlineConfig = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  configFile: false,
  logLevel: 'warn',
  build: { target: 'es2022' },
};
