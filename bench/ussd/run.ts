// A bare Fastify handler beside this service on SQLite, on PostgreSQL and through a mapped adapter, sessions saved
// before the reply, with a log line for each request and without. `npm run bench:ussd`, about five minutes.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBench, type Program, runLoad } from '../harness.ts';

type Load = Awaited<ReturnType<typeof runLoad>>;

interface Target {
  name: string;
  path?: string;
  program: Program;
  load: Record<string, Load>;
}

const scenarios: Record<string, string[]> = { dial: [''], 'session of 4': ['', '1', '1*1', '1*1**'] };
const connections = 256;
const seconds = Number(process.env.BENCH_SECONDS ?? 2);
/** Longer than any load that ends by its count. */
const maxSeconds = 600;
/** Before it is measured, a server answers so many: until then it is the compiler of V8 that is measured. */
const warmUpRequests = 30_000;
const rounds = Number(process.env.BENCH_ROUNDS ?? 4);
const levels = ['info', 'silent'];
const openSessions = 100_000;
const aims: Record<string, number> = { SQLite: 0.6, PostgreSQL: 0.3 };
const mappedAim = 1.05;
const noLimit = { RATE_LIMIT_PER_MINUTE: '1000000000' };
let prefix = 0;

await using bench = openBench();
const databaseUrl = await bench.startPostgres({ durable: true });
for (const level of levels) {
  const env = {
    ...noLimit,
    LOG_LEVEL: level,
    DATA_DIR: join(bench.dir, level),
    PIN_ENCRYPTION_KEY: 'a'.repeat(64),
    USSD_ADAPTERS: fileURLToPath(new URL('mapped.yaml', import.meta.url)),
  };
  const sqlite = toTarget('SQLite', await bench.startService('ussd', env));
  const scaled = toTarget('PostgreSQL', await bench.startService('ussd', { ...env, DATABASE_URL: databaseUrl }));
  const replies = { REPLIES: JSON.stringify(await readReplies(sqlite)), LOG_LEVEL: level };
  const bare = toTarget('bare Fastify', await bench.start('ussd/bare-handler.ts', { env: replies }));
  const mapped = { ...sqlite, name: 'SQLite, mapped', path: '/api/ussd/mapped', load: {} };
  const targets = [bare, sqlite, mapped, scaled];
  for (const name of Object.keys(scenarios)) {
    for (const target of targets) await warmUp(target, name);
    // In turns, the best of each, so that a short load on the machine does not affect only one of them.
    for (let round = 0; round < rounds; round++) {
      for (const target of targets) keepBest(target, name, await load(target, name, { seconds }));
    }
  }
  for (const { program } of targets) await program.stop();
  const lines = level === 'info' ? 'one log line for each request, in all of them' : 'no log, in any of them';
  console.log(`\n${lines}; ${connections} connections, ${seconds} s each, best of ${rounds}\n`);
  print(targets, bare);
  for (const [name, { cpuMicros }] of Object.entries<Load>(mapped.load)) {
    const share = cpuMicros / (sqlite.load[name]?.cpuMicros ?? 0);
    console.log(
      `${name}, mapped: ${share.toFixed(3)} times the processor time of the bundled adapter (aim: at most ${mappedAim})`,
    );
  }
}
await measureOpenSessions();

function toTarget(name: string, program: Program): Target {
  return { name, program, load: {} };
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
    const response = await fetch(`${target.program.url}/api/ussd`, { method: 'POST', headers, body });
    replies[text] = await response.text();
  }
  return replies;
}

async function load(
  { name, path = '/api/ussd', program }: Target,
  scenario: string,
  limit: { seconds: number; dialogues?: number },
): Promise<Load> {
  prefix += 1;
  const requests = (scenarios[scenario] ?? []).map((text) => {
    const session = { sessionId: `b${prefix}-{n}`, serviceCode: '*1234#', phoneNumber: '+2547{n}', text };
    const body = JSON.stringify(session);
    const length = body.replaceAll('{n}', '12345678').length;
    return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
  });
  const expected = '^HTTP/1.1 200[^]*\\r\\n\\r\\n(CON|END) (?!Invalid|Service temp)';
  const result = await runLoad(program, { requests, expected, connections, ...limit });
  if (result.failures > 0) throw new Error(`${name}: ${result.failures} failed, first: ${result.firstFailure}`);
  return result;
}

async function warmUp(target: Target, scenario: string): Promise<void> {
  const dialogues = warmUpRequests / (scenarios[scenario]?.length ?? 1);
  await load(target, scenario, { seconds: maxSeconds, dialogues });
}

function keepBest(target: Target, scenario: string, next: Load): void {
  const best = target.load[scenario] ?? next;
  const cpuMicros = Math.min(best.cpuMicros, next.cpuMicros);
  target.load[scenario] = { ...(next.perSecond > best.perSecond ? next : best), cpuMicros };
}

function print(targets: Target[], bare: Target): void {
  const rows = Object.keys(scenarios).flatMap((scenario) =>
    targets.map((target) => {
      const { perSecond, cpuMicros, p50, p99 } = target.load[scenario] as Load;
      const ceiling = bare.load[scenario] as Load;
      const aim = aims[target.name];
      const share = perSecond / ceiling.perSecond;
      return {
        scenario,
        target: target.name,
        'requests/s': Math.round(perSecond),
        'of bare': `${(share * 100).toFixed(0)} %`,
        aim: aim === undefined ? '' : `${aim * 100} % ${share >= aim ? 'met' : 'MISSED'}`,
        'cpu us': cpuMicros.toFixed(0),
        'cpu / bare': (cpuMicros / ceiling.cpuMicros).toFixed(2),
        'p50 ms': p50.toFixed(2),
        'p99 ms': p99.toFixed(2),
        'p99 / bare': (p99 / ceiling.p99).toFixed(1),
      };
    }),
  );
  console.table(rows);
}

async function bestLoad(target: Target): Promise<Load> {
  target.load = {};
  for (let round = 0; round < rounds; round++) {
    keepBest(target, 'session of 4', await load(target, 'session of 4', { seconds }));
  }
  return target.load['session of 4'] as Load;
}

/** A fresh service: how much an open session holds, and whether a hundred thousand of them slow a request. */
async function measureOpenSessions(): Promise<void> {
  const program = await bench.startService('ussd', {
    ...noLimit,
    LOG_LEVEL: 'info',
    DATA_DIR: join(bench.dir, 'open'),
    SESSION_TIMEOUT_SECONDS: '3600',
  });
  const target = toTarget('SQLite', program);
  await warmUp(target, 'session of 4');
  const few = await bestLoad(target);
  const before = await program.usage('held');
  await load(target, 'dial', { seconds: maxSeconds, dialogues: openSessions });
  const after = await program.usage('held');
  const many = await bestLoad(target);
  console.log(
    `memory of an open session: ${Math.round((after.held - before.held) / openSessions)} bytes (aim: at most 2048)`,
  );
  const share = ((many.perSecond / few.perSecond) * 100).toFixed(0);
  console.log(
    `requests with ${openSessions} open sessions: ${Math.round(many.perSecond)}/s, ${share} % of ${Math.round(few.perSecond)}/s with few; p99 ${many.p99.toFixed(2)} against ${few.p99.toFixed(2)} ms`,
  );
}
