// Side by side in one run, on one machine, with one client: a bare Fastify handler, this service on SQLite and on
// PostgreSQL, and through a mapped adapter, every session durably saved before its reply; once with a log line for each
// request, as services run, and once without any log. `npm run bench:ussd`, about five minutes.
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startPostgres } from '@palaver/test-kit/postgres';

interface Load {
  perSecond: number;
  p50: number;
  p99: number;
  requests: number;
  failures: number;
  firstFailure: string;
  /** Microseconds of processor time the server spent on a request: what a busy machine does not change. */
  cpu: number;
}

interface Usage {
  memory: NodeJS.MemoryUsage;
  cpu: NodeJS.CpuUsage;
}

interface Target {
  name: string;
  port: number;
  path?: string;
  child: ChildProcess;
  load: Record<string, Load>;
}

const scenarios: Record<string, string[]> = { dial: [''], 'session of 4': ['', '1', '1*1', '1*1**'] };
const connections = 256;
const seconds = Number(process.env.BENCH_SECONDS ?? 2);
/** Before it is measured, a server answers so many: until then it is the compiler of V8 that is measured. */
const warmUpRequests = 30_000;
const rounds = Number(process.env.BENCH_ROUNDS ?? 4);
const levels = ['info', 'silent'];
const openSessions = 100_000;
const aims: Record<string, number> = { SQLite: 0.6, PostgreSQL: 0.3 };
const mappedAim = 1.05;

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const devNull = openSync('/dev/null', 'w');
const children: ChildProcess[] = [];
let prefix = 0;

const dir = mkdtempSync(join(tmpdir(), 'palaver-bench-'));
const postgres = await startPostgres({ durable: true });
try {
  for (const level of levels) {
    const env = {
      DATA_DIR: join(dir, level),
      RATE_LIMIT_PER_MINUTE: '1000000000',
      PIN_ENCRYPTION_KEY: 'a'.repeat(64),
      USSD_ADAPTERS: here('mapped.yaml'),
    };
    const sqlite = await start('SQLite', level, 'service.ts', env);
    const scaled = await start('PostgreSQL', level, 'service.ts', { ...env, DATABASE_URL: postgres.url });
    const replies = JSON.stringify(await readReplies(sqlite));
    const bare = await start('bare Fastify', level, 'bare-handler.ts', { REPLIES: replies });
    const mapped = { ...sqlite, name: 'SQLite, mapped', path: '/api/ussd/mapped', load: {} };
    const targets = [bare, sqlite, mapped, scaled];
    for (const name of Object.keys(scenarios)) {
      for (const target of targets) await warmUp(target, name);
      // In turns, the best of each, so that a short load on the machine does not affect only one of them.
      for (let round = 0; round < rounds; round++) {
        for (const target of targets) keepBest(target, name, await runLoad(target, name, { seconds }));
      }
    }
    for (const { child } of targets) child.kill();
    const lines = level === 'info' ? 'one log line for each request, in all of them' : 'no log, in any of them';
    console.log(`\n${lines}; ${connections} connections, ${seconds} s each, best of ${rounds}\n`);
    print(targets, bare);
    for (const [name, { cpu }] of Object.entries<Load>(mapped.load)) {
      const share = cpu / (sqlite.load[name]?.cpu ?? 0);
      console.log(
        `${name}, mapped: ${share.toFixed(3)} times the processor time of the bundled adapter (aim: at most ${mappedAim})`,
      );
    }
  }
  await measureOpenSessions();
} finally {
  for (const child of children) child.kill();
  await postgres.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function start(name: string, level: string, file: string, env: Record<string, string>): Promise<Target> {
  const child = fork(here(file), [], {
    env: { PATH: process.env.PATH, ...env, PORT: '0', LOG_LEVEL: level },
    stdio: ['ignore', devNull, 'inherit', 'ipc'],
  });
  children.push(child);
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return { name, port: Number(new URL(url).port), child, load: {} };
}

async function readReplies(target: Target): Promise<Record<string, string>> {
  const replies: Record<string, string> = {};
  for (const text of Object.values(scenarios).flat()) {
    const body = JSON.stringify({
      sessionId: `probe-${text}`,
      serviceCode: '*1234#',
      phoneNumber: '+254700000000',
      text,
    });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${target.port}/api/ussd`, { method: 'POST', headers, body });
    replies[text] = await response.text();
  }
  return replies;
}

async function runLoad(target: Target, scenario: string, limit: { seconds: number; sessions?: number }): Promise<Load> {
  const { port, path } = target;
  const options = { port, path, connections, texts: scenarios[scenario], prefix: `b${prefix++}`, ...limit };
  const before = await readUsage(target);
  const { stdout } = await promisify(execFile)(process.execPath, [here('load-client.ts'), JSON.stringify(options)]);
  const load = JSON.parse(stdout) as Load;
  const after = await readUsage(target);
  load.cpu = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / load.requests;
  if (load.failures > 0) throw new Error(`${target.name}: ${load.failures} failed, first: ${load.firstFailure}`);
  return load;
}

async function warmUp(target: Target, scenario: string): Promise<void> {
  await runLoad(target, scenario, { seconds: 0, sessions: warmUpRequests / (scenarios[scenario]?.length ?? 1) });
}

/** The round with the highest rate, and the least processor time of all rounds. */
function keepBest(target: Target, scenario: string, load: Load): void {
  const best = target.load[scenario] ?? load;
  const cpu = Math.min(best.cpu, load.cpu);
  target.load[scenario] = { ...(load.perSecond > best.perSecond ? load : best), cpu };
}

function print(targets: Target[], bare: Target): void {
  const rows = Object.keys(scenarios).flatMap((scenario) =>
    targets.map((target) => {
      const load = target.load[scenario] as Load;
      const ceiling = bare.load[scenario] as Load;
      const aim = aims[target.name];
      const share = load.perSecond / ceiling.perSecond;
      return {
        scenario,
        target: target.name,
        'requests/s': Math.round(load.perSecond),
        'of bare': `${(share * 100).toFixed(0)} %`,
        aim: aim === undefined ? '' : `${aim * 100} % ${share >= aim ? 'met' : 'MISSED'}`,
        'cpu us': load.cpu.toFixed(0),
        'cpu / bare': (load.cpu / ceiling.cpu).toFixed(2),
        'p50 ms': load.p50.toFixed(2),
        'p99 ms': load.p99.toFixed(2),
        'p99 / bare': (load.p99 / ceiling.p99).toFixed(1),
      };
    }),
  );
  console.table(rows);
}

async function readUsage(target: Target, collect = false): Promise<Usage> {
  target.child.send(collect ? 'collect' : 'usage');
  const [usage] = (await once(target.child, 'message')) as [Usage];
  return usage;
}

async function memoryOf(target: Target): Promise<number> {
  const { memory } = await readUsage(target, true);
  return memory.heapUsed + memory.external;
}

async function bestLoad(target: Target): Promise<Load> {
  target.load = {};
  for (let round = 0; round < rounds; round++) {
    keepBest(target, 'session of 4', await runLoad(target, 'session of 4', { seconds }));
  }
  return target.load['session of 4'] as Load;
}

/** A fresh service: how much an open session holds, and whether a hundred thousand of them slow a request. */
async function measureOpenSessions(): Promise<void> {
  const target = await start('SQLite', 'info', 'service.ts', {
    DATA_DIR: join(dir, 'open'),
    RATE_LIMIT_PER_MINUTE: '1000000000',
    SESSION_TIMEOUT_SECONDS: '3600',
  });
  await warmUp(target, 'session of 4');
  const few = await bestLoad(target);
  const before = await memoryOf(target);
  await runLoad(target, 'dial', { seconds: 0, sessions: openSessions });
  const after = await memoryOf(target);
  const many = await bestLoad(target);
  console.log(`memory of an open session: ${Math.round((after - before) / openSessions)} bytes (aim: at most 2048)`);
  const share = ((many.perSecond / few.perSecond) * 100).toFixed(0);
  console.log(
    `requests with ${openSessions} open sessions: ${Math.round(many.perSecond)}/s, ${share} % of ${Math.round(few.perSecond)}/s with few; p99 ${many.p99.toFixed(2)} against ${few.p99.toFixed(2)} ms`,
  );
}
