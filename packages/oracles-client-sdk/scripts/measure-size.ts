import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface SizeRow {
  name: string;
  minified: number;
  gzipped: number;
  budget: number;
}

/** What an application pays for each use, minified and compressed, without the peers. Chat includes its socket. */
const uses = [
  { name: 'chat alone', code: `export { OraclesProvider, useChat } from './src/index.ts';`, budget: 26_000 },
  {
    name: 'chat, Markdown, sessions, actions',
    code: `export { OraclesProvider, useChat, useOracleSessions, useAgAction, renderMessageContent } from './src/index.ts';`,
    budget: 30_000,
  },
  { name: 'every export', code: `export * from './src/index.ts';`, budget: 32_000 },
  { name: 'core', code: `export * from './src/core/index.ts';`, budget: 25_000 },
  { name: 'live-agent (without livekit-client)', code: `export * from './src/live-agent/index.ts';`, budget: 5_000 },
];

export async function measureSizes(): Promise<SizeRow[]> {
  const rows: SizeRow[] = [];
  for (const { name, code, budget } of uses) {
    const text = await bundle(code);
    rows.push({ name, minified: text.length, gzipped: gzipSync(text, { level: 9 }).length, budget });
  }
  return rows;
}

/** As an application's bundler does it: one entry, everything unused left out. */
async function bundle(code: string): Promise<string> {
  const entry = 'virtual:entry';
  const result = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    // Whatever NODE_ENV says here: what is measured is what users load.
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { conditions: ['module', 'browser', 'production'] },
    oxc: { jsx: { runtime: 'automatic' } },
    plugins: [
      {
        name: 'entry',
        enforce: 'pre',
        resolveId(id, importer) {
          if (id === entry) return id;
          return importer === entry ? this.resolve(root + id.slice(2)) : undefined;
        },
        load: (id) => (id === entry ? code : undefined),
      },
    ],
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: {
        input: entry,
        preserveEntrySignatures: 'strict',
        external: [/^react($|\/)/, /^zod($|\/)/, /^livekit-client($|\/)/],
        output: { format: 'es' },
      },
    },
  })) as Rolldown.RolldownOutput;
  return result.output.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('');
}

/** The sizes as a table for people. */
export function toTable(rows: readonly SizeRow[]): string {
  const kB = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`.padStart(9);
  const lines = rows.map(
    ({ name, minified, gzipped, budget }) => `${name.padEnd(38)}${kB(minified)}${kB(gzipped)}${kB(budget)}`,
  );
  return [`${'use'.padEnd(38)} minified  gzipped   budget`, ...lines].join('\n');
}
