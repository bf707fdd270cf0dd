import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface SizeRow {
  name: string;
  minified: number;
  gzipped: number;
  budget: number;
  /** Of `gzipped`, what is loaded only when it is used. */
  later: number;
  /** Beside `gzipped`: Socket.IO's own client, loaded only where a network lets no WebSocket through. */
  fallback: number;
}

const uses = [
  { name: 'chat alone', code: `export { OraclesProvider, useChat } from './src/index.ts';`, budget: 19_500 },
  {
    name: 'chat, Markdown, sessions, actions',
    code: `export { OraclesProvider, useChat, useOracleSessions, useAgAction, renderMessageContent } from './src/index.ts';`,
    budget: 24_700,
  },
  { name: 'every export', code: `export * from './src/index.ts';`, budget: 26_800 },
  { name: 'core', code: `export * from './src/core/index.ts';`, budget: 16_500 },
  { name: 'live-agent (without livekit-client)', code: `export * from './src/live-agent/index.ts';`, budget: 5_000 },
  {
    name: 'chat with /ui',
    code: `export { OraclesProvider } from './src/index.ts'; export { Chat } from './src/ui/index.ts';`,
    budget: 28_300,
  },
  { name: 'element (without React)', code: `export * from './src/element/index.ts';`, budget: 36_000 },
  { name: 'wallet', code: `export * from './src/wallet/index.ts';`, budget: 3_500 },
];

export async function measureSizes(): Promise<SizeRow[]> {
  const rows: SizeRow[] = [];
  for (const { name, code, budget } of uses) {
    const { first, later, fallback } = await bundle(code);
    const size = (text: string) => (text ? gzipSync(text, { level: 9 }).length : 0);
    const minified = first.length + later.length;
    const gzipped = size(first) + size(later);
    rows.push({ name, minified, gzipped, later: size(later), fallback: size(fallback), budget });
  }
  return rows;
}

/** As an application's bundler does it: one entry, everything unused left out. Gives what is loaded first, later, and as a fallback. */
async function bundle(code: string): Promise<Record<'first' | 'later' | 'fallback', string>> {
  const entry = 'virtual:entry';
  const result = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    // Whatever NODE_ENV says here: what is measured is what users load.
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { conditions: ['module', 'browser', 'production'] },
    oxc: { jsx: { runtime: 'automatic', development: false } },
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
        external: [/^react(-dom)?($|\/)/, /^zod($|\/)/, /^livekit-client($|\/)/],
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
  const whenLoaded = ({ fileName, moduleIds }: Rolldown.OutputChunk) => {
    if (first.has(fileName)) return 'first';
    return moduleIds.some((id) => id.includes('socket.io-client')) ? 'fallback' : 'later';
  };
  const textOf = (when: string) => chunks.flatMap((chunk) => (whenLoaded(chunk) === when ? [chunk.code] : [])).join('');
  return { first: textOf('first'), later: textOf('later'), fallback: textOf('fallback') };
}

export function toTable(rows: readonly SizeRow[]): string {
  const kB = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`.padStart(9);
  const lines = rows.map(
    ({ name, minified, gzipped, later, fallback, budget }) =>
      `${name.padEnd(38)}${kB(minified)}${kB(gzipped)}${kB(later)}${kB(fallback)}${kB(budget)}`,
  );
  return [`${'use'.padEnd(38)} minified  gzipped    later fallback   budget`, ...lines].join('\n');
}
