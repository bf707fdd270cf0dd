import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, existsSync, constants as fsConstants, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { extname, join, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Logger } from '@palaver/service-kit';
import { buildName, dist } from './build-name.ts';

type WebBuildState = { status: 'building' } | { status: 'ready'; files: Map<string, WebFile> } | { status: 'failed' };

export type FinishedBuild = ReturnType<typeof readyPage>;
export type Page = Omit<FinishedBuild, 'settled'>;

interface WebBuildOptions {
  logger: Logger;
  otherFolder(): string;
}

/** The page in a published package; a checkout has no such folder. */
const packedPage = join(import.meta.dirname, '../web');

/** A missing or outdated page is built in a process of its own, so that the services in this one never wait for it. */
export function createWebBuild({ logger, otherFolder }: WebBuildOptions): FinishedBuild {
  if (existsSync(packedPage)) return readyPage(packedPage);
  const name = buildName();
  const folder = existsSync(join(dist, name)) ? dist : writableFolder(otherFolder);
  if (existsSync(join(folder, name))) return readyPage(join(folder, name));
  let state: WebBuildState = { status: 'building' };
  const started = performance.now();
  const stopping = new AbortController();
  logger.info('building the console page (once; a few seconds)');
  const settled = buildInto(folder, name, stopping.signal).then(
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
    settled,
    async close() {
      stopping.abort();
      await settled;
    },
  };
}

function readyPage(folder: string) {
  const state: WebBuildState = { status: 'ready', files: loadFiles(folder) };
  return { current: () => state as WebBuildState, settled: Promise.resolve(), close: async () => {} };
}

/** `dist`, unless the program's own files are read-only, as in a container or under systemd's `ProtectSystem`. */
function writableFolder(otherFolder: () => string): string {
  try {
    mkdirSync(dist, { recursive: true });
    accessSync(dist, fsConstants.W_OK);
    return dist;
  } catch {
    return otherFolder();
  }
}

async function buildInto(folder: string, name: string, signal: AbortSignal): Promise<Map<string, WebFile>> {
  const unfinished = join(folder, `.${name}-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    const script = join(import.meta.dirname, 'run-build.ts');
    const child = spawn(process.execPath, [script, unfinished], { stdio: ['ignore', 'ignore', 'pipe'], signal });
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString()).slice(-4_000);
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(complaint || `the build ended with ${code}`);
    await publish(unfinished, folder, name);
    return loadFiles(join(folder, name));
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function publish(unfinished: string, folder: string, name: string): Promise<void> {
  await rename(unfinished, join(folder, name)).catch((error: unknown) => {
    if (!existsSync(join(folder, name))) throw error; // otherwise another process has finished the same build first
  });
  for (const entry of await readdir(folder)) {
    if (entry !== name && !entry.startsWith('.')) await rm(join(folder, entry), { recursive: true, force: true });
  }
}

export type WebFile = ReturnType<typeof loadFile>;

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Holds the files in memory: a page rebuilt beside a running server does not change under it. */
export function loadFiles(folder: string): Map<string, WebFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.br'));
  return new Map(
    files.map(({ parentPath, name }) => {
      const file = join(parentPath, name);
      const path = `/${relative(folder, file).split(sep).join('/')}`;
      return [path, loadFile(file, path)];
    }),
  );
}

function loadFile(file: string, path: string) {
  const body = readFileSync(file);
  const gzip = gzipSync(body);
  return {
    body,
    compressed: {
      br: existsSync(`${file}.br`) ? readFileSync(`${file}.br`) : undefined,
      gzip: gzip.length < body.length ? gzip : undefined,
    },
    type: types[extname(path)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    isImmutable: path.startsWith('/assets/'),
  };
}
