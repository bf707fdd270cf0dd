// What a key press costs while the tables grow: databases of three sizes on one PostgreSQL, two instances on each, so that most
// key presses read their session from the database. The sizes are measured in turns, slice by slice, so that whatever else
// the machine does meets all of them. `npm run bench:ussd-scale`, about five minutes and 5 GB of disk; BENCH_SCALE=0.1 is a
// tenth of the rows.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '@palaver/test-kit/postgres';
import pg from 'pg';

interface Level {
  accounts: number;
  sessions: number;
  client: pg.Client;
  instances: Instance[];
  /** Of registered callers. */
  phones: string[];
}

interface Instance {
  url: string;
  child: ChildProcess;
}

interface Slice {
  times: number[];
  /** Milliseconds of the services' processors for each request. */
  cpu: number;
}

interface Cost {
  /** The median slice, and the lowest and the highest one. */
  cpu: string;
  p50: number;
  p99: number;
  /** Pages of 8 kB that PostgreSQL looks at for each request: what a busy machine does not change. */
  pages: number;
}

const scale = Number(process.env.BENCH_SCALE ?? 1);
const sizes = [
  { accounts: 0, sessions: 0 },
  { accounts: 500_000, sessions: 100_000 },
  { accounts: 5_000_000, sessions: 1_000_000 },
].map(({ accounts, sessions }) => ({ accounts: accounts * scale, sessions: sessions * scale }));
const callers = 8;
const rounds = 5;
const dialoguesPerSlice = 200;
const reportsPerSlice = 16;
const pin = '4071';
let serial = 0;

const dir = mkdtempSync(join(tmpdir(), 'palaver-scale-'));
const postgres = await startPostgres();
const children: ChildProcess[] = [];
const clients: pg.Client[] = [];
try {
  const levels: Level[] = [];
  for (const size of sizes) levels.push(await openLevel(size));
  const presses = await measureInTurns(levels, dialoguesPerSlice, keyPresses);
  const reports = await measureInTurns(levels, reportsPerSlice, fileReport);
  const head = [
    'accounts',
    'sessions',
    'key press: pages',
    'CPU ms',
    'p50 ms',
    'p99 ms',
    'report with PIN: pages',
    'CPU ms',
  ];
  const lines = levels.map(({ accounts, sessions }, index) => {
    const [press, report] = [presses[index], reports[index]];
    if (!press || !report) throw new Error('a level was not measured');
    const cells = [press.pages, press.cpu, press.p50, press.p99, report.pages, report.cpu].map((cell) =>
      typeof cell === 'string' ? cell : cell.toFixed(1),
    );
    return `| ${accounts} | ${sessions} | ${cells.join(' | ')} |`;
  });
  process.stdout.write(`| ${head.join(' | ')} |\n|${head.map(() => '---|').join('')}\n${lines.join('\n')}\n\n`);
  const largest = levels.at(-1);
  if (largest)
    for (const line of [...(await measureRows(largest)), ...(await measureRemoval(largest))])
      process.stdout.write(`${line}\n`);
} finally {
  for (const child of children) child.kill();
  for (const client of clients) await client.end();
  await postgres.stop();
  rmSync(dir, { recursive: true });
}

function next(): number {
  serial += 1;
  return serial;
}

/** A database with so many rows, and two instances on it. */
async function openLevel(size: (typeof sizes)[0]): Promise<Level> {
  const name = `level${clients.length}`;
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  // One checkpoint at the end instead of one every few seconds while the tables are filled; vacuum would count as pages read.
  await admin.query("alter system set max_wal_size = '8GB'");
  await admin.query('alter system set autovacuum = off');
  await admin.query('select pg_reload_conf()');
  await admin.query(`create database ${name}`);
  await admin.end();
  const url = Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href;
  const client = new pg.Client({ connectionString: url });
  clients.push(client);
  await client.connect();
  const instances = [await start(url), await start(url)];
  await fill(client, size);
  const phones = Array.from({ length: callers }, () => `+2547${String(next() + 20_000_000).padStart(8, '0')}`);
  for (const phone of phones) await say(instances[0], phone, `register-${phone}`, `2*1*Ana*${pin}*${pin}`);
  return { ...size, client, instances, phones };
}

async function start(databaseUrl: string): Promise<Instance> {
  const env = {
    ...process.env,
    PORT: '0',
    DATA_DIR: dir,
    DATABASE_URL: databaseUrl,
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_MINUTE: '1000000000',
    PIN_ENCRYPTION_KEY: 'a'.repeat(64),
  };
  const child = fork(fileURLToPath(new URL('service.ts', import.meta.url)), { env });
  children.push(child);
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return { url, child };
}

/** Rows like those that the service writes. */
async function fill(client: pg.Client, { accounts, sessions }: (typeof sizes)[0]): Promise<void> {
  const started = performance.now();
  await client.query(`insert into ussd_account (id, phone, name, pin, failed, locks, created_at)
    select '00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'), '+25471' || lpad(n::text, 8, '0'), 'Name ' || n,
      repeat('p', 150), 0, 0, 1
    from generate_series(1, ${accounts}) as n`);
  await client.query(`insert into ussd_profile (phone, language)
    select '+25471' || lpad(n::text, 8, '0'), 'en' from generate_series(1, ${accounts}) as n`);
  await client.query(`insert into ussd_session (id, phone, service_code, version, status, text_hash, text_length, opening,
      dialogue, reply, opened_at, seen_at)
    select 'full-' || n, '+25471' || lpad(n::text, 8, '0'), '*1234#', 3, n % 2, md5(n::text), 3, 'en',
      '{"f":1,"s":"about","l":"en","b":["preMenu"]}', rpad('CON ', 120, 'x'), ${Date.now()}, ${Date.now()}
    from generate_series(1, ${sessions}) as n`);
  await client.query(`insert into ussd_action_result (key, phone, result, created_at)
    select md5(n::text) || md5('e' || n), '+25471' || lpad(n::text, 8, '0'), '{"outcome":"filed"}', ${Date.now()}
    from generate_series(1, ${sessions}) as n`);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  process.stderr.write(`${accounts} accounts filled in ${Math.round((performance.now() - started) / 1000)} s\n`);
}

type Dialogue = (say: (text: string) => Promise<string>) => Promise<void>;

async function keyPresses(say: Parameters<Dialogue>[0]): Promise<void> {
  for (const text of ['', '1', '1*0', '1*0*3']) await say(text);
}

async function fileReport(say: Parameters<Dialogue>[0]): Promise<void> {
  await say(`3*1*${next()}*${pin}`);
}

/** A slice of each level in turn, so often; the first of each is for the pages that it reads. */
async function measureInTurns(levels: Level[], count: number, dialogue: Dialogue): Promise<Cost[]> {
  const pages: number[] = [];
  for (const level of levels) {
    await runSlice(level, callers, dialogue);
    const before = await readPages(level);
    const { times } = await runSlice(level, count, dialogue);
    pages.push(((await readPages(level)) - before) / times.length);
  }
  const slices: Slice[][] = levels.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, level] of levels.entries()) slices[index]?.push(await runSlice(level, count, dialogue));
  return slices.map((own, index) => {
    const times = own.flatMap((slice) => slice.times).sort((a, b) => a - b);
    const cpus = own.map(({ cpu }) => cpu).sort((a, b) => a - b);
    const at = (values: number[], share: number) => values[Math.floor((values.length - 1) * share)] ?? 0;
    const [median, low, high] = [0.5, 0, 1].map((share) => at(cpus, share).toFixed(2));
    return {
      cpu: `${median} (${low} to ${high})`,
      p50: at(times, 0.5),
      p99: at(times, 0.99),
      pages: pages[index] ?? 0,
    };
  });
}

/** So many dialogues by a few callers at once, each request to the other instance than the one before. */
async function runSlice({ instances, phones }: Level, count: number, dialogue: Dialogue): Promise<Slice> {
  const times: number[] = [];
  let begun = 0;
  const before = await readCpu(instances);
  await Promise.all(
    phones.map(async (phone) => {
      while (begun < count) {
        begun += 1;
        const session = `run-${next()}-${phone}`;
        await dialogue(async (text) => {
          const at = performance.now();
          const reply = await say(instances[next() % instances.length], phone, session, text);
          times.push(performance.now() - at);
          return reply;
        });
      }
    }),
  );
  return { times, cpu: ((await readCpu(instances)) - before) / times.length };
}

async function say(
  instance: Instance | undefined,
  phoneNumber: string,
  sessionId: string,
  text: string,
): Promise<string> {
  const body = JSON.stringify({ sessionId, serviceCode: '*1234#', phoneNumber, text });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  const reply = await (await fetch(`${instance?.url}/api/ussd`, init)).text();
  if (!/^(CON|END) /.test(reply) || /unavailable/.test(reply)) throw new Error(reply);
  return reply;
}

async function readCpu(instances: Instance[]): Promise<number> {
  let total = 0;
  for (const { child } of instances) {
    child.send('usage');
    const [{ cpu }] = (await once(child, 'message')) as [{ cpu: NodeJS.CpuUsage }];
    total += (cpu.user + cpu.system) / 1000;
  }
  return total;
}

async function readPages({ client }: Level): Promise<number> {
  // Connections report what they did when they have been idle for a second.
  await sleep(2_000);
  const { rows } = await client.query<{ pages: string }>(
    'select blks_hit + blks_read as pages from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]?.pages);
}

async function measureRows({ client }: Level): Promise<string[]> {
  const { rows } = await client.query<{ name: string; bytes: string; rows: string }>(`
    select relname as name, pg_total_relation_size(oid) as bytes, reltuples as rows
    from pg_class where relkind = 'r' and relname like 'ussd%' and reltuples > 1000 order by 1`);
  return rows.map(
    ({ name, bytes, rows: count }) => `${name}: ${Math.round(Number(bytes) / Number(count))} bytes a row`,
  );
}

async function measureRemoval({ client, sessions }: Level): Promise<string[]> {
  const at = performance.now();
  await client.query(`delete from ussd_session where id like 'full-%'`);
  return [`${sessions} sessions: deleted in ${Math.round(performance.now() - at)} ms`];
}
