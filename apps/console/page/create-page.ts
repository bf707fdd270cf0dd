import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@palaver/service-kit';
import { fingerprint } from './fingerprint.ts';
import { loadFiles, type PageFile } from './load-files.ts';

export type { PageFile };

export type PageState =
  | { status: 'building' }
  | { status: 'ready'; files: Map<string, PageFile> }
  | { status: 'failed' };

export interface Page {
  current(): PageState;
  close(): Promise<void>;
}

const root = join(import.meta.dirname, '../../..');
const dist = join(import.meta.dirname, '../dist');
/** Everything the page is made of. */
const sources = [
  'apps/console/src',
  'apps/console/public',
  'apps/console/index.html',
  'apps/console/vite.config.ts',
  'apps/console/package.json',
  'packages/contract/src',
  'packages/ucan/src',
  'packages/oracles-client-sdk/src',
  'services/ussd/tools',
];

/**
 * The built page. Where it is missing or made of other sources it is built in a process of its own, so that the services
 * in this one never wait for it.
 */
export function createPage(logger: Logger): Page {
  const name = fingerprint(root, sources);
  if (existsSync(join(dist, name))) {
    const files = loadFiles(join(dist, name));
    return { current: () => ({ status: 'ready', files }), close: async () => {} };
  }
  let state: PageState = { status: 'building' };
  const started = performance.now();
  const stopping = new AbortController();
  logger.info('building the console page (once; a few seconds)');
  const built = buildInto(name, stopping.signal).then(
    (files) => {
      state = { status: 'ready', files };
      logger.info(`the console page is ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
    },
    (error: unknown) => {
      state = { status: 'failed' };
      if (!stopping.signal.aborted) logger.error({ err: error }, 'the console page could not be built');
    },
  );
  return {
    current: () => state,
    async close() {
      stopping.abort();
      await built;
    },
  };
}

async function buildInto(name: string, signal: AbortSignal): Promise<Map<string, PageFile>> {
  const unfinished = join(dist, `.${name}-${process.pid}`);
  try {
    await mkdir(dist, { recursive: true });
    const script = join(import.meta.dirname, 'build-page.ts');
    const child = spawn(process.execPath, [script, unfinished], { stdio: ['ignore', 'ignore', 'pipe'], signal });
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString()).slice(-4_000);
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(complaint || `the build ended with ${code}`);
    await publish(unfinished, name);
    return loadFiles(join(dist, name));
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Moves the finished build into its place in one step, and clears away those of other sources. */
async function publish(unfinished: string, name: string): Promise<void> {
  await rename(unfinished, join(dist, name)).catch((error: unknown) => {
    if (!existsSync(join(dist, name))) throw error; // otherwise another process has finished the same build first
  });
  for (const entry of await readdir(dist)) {
    if (entry !== name && !entry.startsWith('.')) await rm(join(dist, entry), { recursive: true, force: true });
  }
}
