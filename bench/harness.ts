import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startPostgres } from '@palaver/test-kit/postgres';
import pg from 'pg';
import type { LoadOptions, LoadResult } from './load-client.ts';
import type { Usage } from './probe.ts';

const inBench = (file: string) => fileURLToPath(new URL(file, import.meta.url));

interface StartOptions {
  args?: string[];
  env?: Record<string, string>;
}

export interface Program {
  /** Empty for one that does not listen. */
  url: string;
  ask<Answer>(message: unknown): Promise<Answer>;
  usage(what?: 'usage' | 'held'): Promise<Usage>;
  stop(): Promise<void>;
}

/** Where a benchmark keeps and starts everything. When it is disposed, all of that ends and nothing is left. */
export function openBench() {
  const opened = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'palaver-bench-'));
  opened.defer(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));

  /** Of a program that is not ours, CPU time and memory are read as Linux counts them. */
  const adopt = (child: ChildProcess, url = ''): Program => {
    const ask = async <Answer>(message: unknown) => {
      child.send(message as object);
      return (await once(child, 'message'))[0] as Answer;
    };
    const stop = async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    };
    opened.defer(stop);
    return { url, ask, stop, usage: (what = 'usage') => (child.channel ? ask<Usage>(what) : readProcess(child.pid)) };
  };

  const start = async (file: string, { args = [], env = {} }: StartOptions = {}): Promise<Program> => {
    const child = fork(inBench(file), args, {
      execArgv: ['--expose-gc', '--import', inBench('probe.ts')],
      env: { PATH: process.env.PATH, PORT: '0', ...env },
      // One line for each request is written, but not shown.
      stdio: ['ignore', env.LOG_LEVEL === 'info' ? 'ignore' : 'inherit', 'inherit', 'ipc'],
    });
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`${file} ended with ${code}`)));
    const [{ url }] = (await Promise.race([once(child, 'message'), ended])) as [{ url: string }];
    return adopt(child, url);
  };

  return {
    dir,
    adopt,
    start,
    startService: (name: 'ussd' | 'agent' | 'gateway', env: Record<string, string>) =>
      start('service.ts', { args: [name], env }),
    async startPostgres(options?: { durable: boolean }): Promise<string> {
      const { url, stop } = await startPostgres(options);
      opened.defer(stop);
      return url;
    },
    async connect(connectionString: string): Promise<pg.Client> {
      const client = new pg.Client({ connectionString });
      opened.defer(() => client.end());
      await client.connect();
      return client;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export type Bench = ReturnType<typeof openBench>;

let databases = 0;

export async function createDatabase(bench: Bench, server: string): Promise<{ url: string; client: pg.Client }> {
  databases += 1;
  const name = `bench${databases}`;
  const admin = await bench.connect(server);
  await admin.query(`create database ${name}`);
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
  return { url, client: await bench.connect(url) };
}

/** Pages of 8 kB that PostgreSQL has looked at: what a busy machine does not change. */
export async function readPages(client: pg.Client): Promise<number> {
  // Connections report what they did when they have been idle for a second.
  await sleep(1_500);
  const text = 'select blks_hit + blks_read as pages from pg_stat_database where datname = current_database()';
  return Number((await client.query<{ pages: string }>(text)).rows[0]?.pages);
}

/** In hundredths of a second and pages of 4 KB. */
async function readProcess(pid: number | undefined): Promise<Usage> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, pages = 0] = [fields[11], fields[12], fields[21]].map(Number);
  return { cpuMicros: (user + system) * 10_000, rss: pages * 4096, held: 0 };
}

export type LoadedProgram = Pick<Program, 'url' | 'usage'>;

/** Loads a server from a process of its own; with what each request cost the server in microseconds of CPU time. */
export async function runLoad(
  { url, usage }: LoadedProgram,
  load: Omit<LoadOptions, 'port'>,
): Promise<LoadResult & { cpuMicros: number }> {
  const options: LoadOptions = { port: Number(new URL(url).port), ...load };
  const before = await usage();
  const { stdout } = await promisify(execFile)(process.execPath, [inBench('load-client.ts'), JSON.stringify(options)]);
  const result = JSON.parse(stdout) as LoadResult;
  const after = await usage();
  return { ...result, cpuMicros: (after.cpuMicros - before.cpuMicros) / Math.max(1, result.answers) };
}

export function quantile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? Number.NaN;
}
