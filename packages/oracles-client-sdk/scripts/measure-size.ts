import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface SizeRow {
  name: string;
  minified: number;
  gzipped: number;
  budget: number;
  /** Of `gzipped`, what is loaded only when it is used: a chat that is open needs its socket. */
  later: number;
}

/** What an application pays for each use, minified and compressed, without the peers. */
const uses = [
  { name: 'chat alone', code: `export { OraclesProvider, useChat } from './src/index.ts';`, budget: 30_000 },
  {
    name: 'chat, Markdown, sessions, actions',
    code: `export { OraclesProvider, useChat, useOracleSessions, useAgAction, renderMessageContent } from './src/index.ts';`,
    budget: 35_000,
  },
  { name: 'every export', code: `export * from './src/index.ts';`, budget: 37_000 },
  { name: 'core', code: `export * from './src/core/index.ts';`, budget: 27_000 },
  { name: 'live-agent (without livekit-client)', code: `export * from './src/live-agent/index.ts';`, budget: 5_000 },
  {
    name: 'chat with /ui',
    code: `export { OraclesProvider } from './src/index.ts'; export { Chat } from './src/ui/index.ts';`,
    budget: 37_500,
  },
  { name: 'wallet', code: `export * from './src/wallet/index.ts';`, budget: 5_000 },
];

export async function measureSizes(): Promise<SizeRow[]> {
  const rows: SizeRow[] = [];
  for (const { name, code, budget } of uses) {
    const [first, later] = await bundle(code);
    const size = (text: string) => (text ? gzipSync(text, { level: 9 }).length : 0);
    const minified = first.length + later.length;
    rows.push({ name, minified, gzipped: size(first) + size(later), later: size(later), budget });
  }
  return rows;
}

/** As an application's bundler does it: one entry, everything unused left out. Gives what is loaded first, and later. */
async function bundle(code: string): Promise<[first: string, later: string]> {
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
  const chunks = result.output.filter((chunk) => chunk.type === 'chunk');
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const first = new Set<string>();
  const add = (name: string) => {
    if (first.has(name)) return;
    first.add(name);
    byName.get(name)?.imports.forEach(add);
  };
  for (const { isEntry, fileName } of chunks) if (isEntry) add(fileName);
  const textOf = (isFirst: boolean) =>
    chunks.flatMap(({ fileName, code: text }) => (first.has(fileName) === isFirst ? [text] : [])).join('');
  return [textOf(true), textOf(false)];
}

/** The sizes as a table for people. */
export function toTable(rows: readonly SizeRow[]): string {
  const kB = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`.padStart(9);
  const lines = rows.map(
    ({ name, minified, gzipped, later, budget }) =>
      `${name.padEnd(38)}${kB(minified)}${kB(gzipped)}${kB(later)}${kB(budget)}`,
  );
  return [`${'use'.padEnd(38)} minified  gzipped    later   budget`, ...lines].join('\n');
}
