// The agent in a process of its own that may use one GiB, as the chart gives it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@palaver/test-kit/servers';

export const limitBytes = 1024 ** 3;

export interface LimitedAgent extends AsyncDisposable {
  url: string;
  did: string;
  /** How the process has ended, if it has. */
  ended(): string | undefined;
  /** The most memory it has had, in bytes. */
  maxRss(): number;
}

interface Cage {
  /** Writing a process id here puts the process in. */
  procs: string;
  remove(): void;
}

/** A cgroup with the limit, of either version; undefined if this user cannot make one. */
function createCage(): Cage | undefined {
  for (const [root, file] of [
    ['/sys/fs/cgroup', 'memory.max'],
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
  ] as const) {
    const path = join(root, `palaver-limits-${process.pid}`);
    try {
      mkdirSync(path);
    } catch {
      continue;
    }
    try {
      readFileSync(join(path, file));
      writeFileSync(join(path, file), String(limitBytes));
      return { procs: join(path, 'cgroup.procs'), remove: () => rmdirSync(path) };
    } catch {
      rmdirSync(path);
    }
  }
  return undefined;
}

/** What holds the process to its limit on this machine. */
export function describeLimit(): string {
  const cage = createCage();
  cage?.remove();
  return cage
    ? 'a cgroup ends the process above 1 GiB'
    : 'no cgroup can be made here: the memory of the process is watched';
}

const wordsPerSecond = 40;

/** Users may send faster than by default, so that it takes minutes and not hours; all other limits are the defaults. */
const env = {
  SENDS_PER_MINUTE: '1200',
  WRITES_PER_MINUTE_PER_ADDRESS: '1200',
  OFFLINE_WORDS_PER_SECOND: String(wordsPerSecond),
  LOG_LEVEL: 'error',
};

export async function startLimitedAgent(): Promise<LimitedAgent> {
  const dir = mkdtempSync(join(tmpdir(), 'palaver-limits-'));
  const cage = createCage();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = fileURLToPath(new URL('agent-process.ts', import.meta.url));
  // The shell joins the cgroup and becomes the agent, which so begins with the limit and sizes its heap by it.
  const join_ = cage ? `echo $$ > ${cage.procs} && ` : '';
  const child = spawn('/bin/sh', ['-c', `${join_}exec "${process.execPath}" "${program}"`], {
    env: { PATH: process.env.PATH, PORT: String(port), DATA_DIR: dir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-20_000);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  let ended: string | undefined;
  child.once('exit', (code, signal) => {
    ended = `${signal ?? code}: ${output.split('\n').find((line) => /FATAL|Error/.test(line)) ?? ''}`;
  });
  let maxRss = 0;
  const look = () => {
    const peak = readPeak(child.pid);
    maxRss = Math.max(maxRss, peak);
    if (!cage && peak > limitBytes) child.kill('SIGKILL');
  };
  const timer = setInterval(look, 200);
  for (;;) {
    if (ended !== undefined) throw new Error(`the agent did not start: ${output}`);
    const reply = await fetch(`${url}/health`).catch(() => undefined);
    if (reply?.ok) break;
    await sleep(100);
  }
  const { id: did } = (await (await fetch(`${url}/.well-known/did.json`)).json()) as { id: string };
  const agent: LimitedAgent = {
    url,
    did,
    ended: () => ended,
    maxRss: () => {
      look();
      return maxRss;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      process.off('SIGINT', stop).off('SIGTERM', stop);
      if (process.env.LIMITS_OUTPUT) appendFileSync(process.env.LIMITS_OUTPUT, output);
      if (ended === undefined) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      cage?.remove();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  // Neither the process nor its cgroup is left behind where this one is stopped.
  const stop = () => void agent[Symbol.asyncDispose]().then(() => process.exit(1));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return agent;
}

function readPeak(pid: number | undefined): number {
  try {
    const [, kib = '0'] = /^VmHWM:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) * 1024;
  } catch {
    return 0;
  }
}
