import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@palaver/service-kit';
import { fingerprint } from './fingerprint.ts';
import { loadFiles, type PageFile } from './load-files.ts';

export type { PageFile };

export type PageState =
  | { status: 'building' }
  | { status: 'ready'; files: Map<string, PageFile> }
  | { status: 'failed'; message: string };

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
  const folder = join(dist, name);
  if (existsSync(folder)) {
    const files = loadFiles(folder);
    return { current: () => ({ status: 'ready', files }), close: async () => {} };
  }

  let state: PageState = { status: 'building' };
  const started = performance.now();
  logger.info('building the console page (once; a few seconds)');
  const unfinished = join(dist, `.${name}-${process.pid}`);
  mkdirSync(dist, { recursive: true });
  const child = spawn(process.execPath, [join(import.meta.dirname, 'build-page.ts'), unfinished], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (child.pid !== undefined) setPriority(child.pid, 10);
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-4_000);
  });
  const ended = once(child, 'close').then(
    ([code, signal]) => {
      if (signal !== null) return;
      if (code !== 0) return fail(complaint || `the build ended with ${code}`);
      try {
        publish(unfinished, name);
        state = { status: 'ready', files: loadFiles(folder) };
        logger.info(`the console page is ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
      } catch (error) {
        fail(String(error));
      }
    },
    (error: unknown) => fail(String(error)),
  );
  function fail(message: string): void {
    state = { status: 'failed', message };
    logger.error({ reason: message }, 'the console page could not be built');
  }
  return {
    current: () => state,
    async close() {
      child.kill();
      await ended;
      rmSync(unfinished, { recursive: true, force: true });
    },
  };
}

/** Moves the finished build into its place in one step, and clears away those of other sources. */
function publish(unfinished: string, name: string): void {
  try {
    renameSync(unfinished, join(dist, name));
  } catch (error) {
    if (!existsSync(join(dist, name))) throw error; // otherwise another process has finished the same build first
  }
  for (const entry of readdirSync(dist)) {
    if (entry !== name && !entry.startsWith('.')) rmSync(join(dist, entry), { recursive: true, force: true });
  }
}
