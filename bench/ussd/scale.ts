// What a key press costs while the tables grow: two instances on one PostgreSQL, so that most key presses read their session
// from the database. `npm run bench:ussd-scale`, about ten minutes and 5 GB of disk; BENCH_SCALE=0.1 is a tenth of it.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '@palaver/test-kit/postgres';
import pg from 'pg';

interface Instance {
  url: string;
  child: ChildProcess;
}

interface Cost {
  p50: number;
  p99: number;
  /** Milliseconds of the services' processors for each request. */
  cpu: number;
  /** Pages of 8 kB that PostgreSQL looks at for each request: what a busy machine does not change. */
  pages: number;
}

const scale = Number(process.env.BENCH_SCALE ?? 1);
const levels = [
  { accounts: 0, sessions: 0 },
  { accounts: 500_000, sessions: 100_000 },
  { accounts: 5_000_000, sessions: 1_000_000 },
].map(({ accounts, sessions }) => ({ accounts: accounts * scale, sessions: sessions * scale }));
const callers = 8;
const dialogues = 1_500;
const reports = 100;
const pin = '4071';
const day = Math.floor(Date.now() / 86_400_000);
let serial = 0;

const dir = mkdtempSync(join(tmpdir(), 'palaver-scale-'));
const postgres = await startPostgres();
const client = new pg.Client({ connectionString: postgres.url });
await client.connect();
const children: ChildProcess[] = [];
try {
  const instances = [await start(), await start()];
  const lines = [];
  let filled = { accounts: 0, sessions: 0 };
  for (const level of levels) {
    await fill(filled, level);
    filled = level;
    await measure(instances, 100, keyPresses);
    const press = await measure(instances, dialogues, keyPresses);
    const report = await measure(instances, reports, fileReport);
    const cells = [press.pages, press.cpu, press.p50, press.p99, report.pages, report.cpu].map((value) =>
      value.toFixed(2),
    );
    lines.push(`| ${level.accounts} | ${level.sessions} | ${cells.join(' | ')} |`);
    process.stderr.write(`${lines.at(-1)}\n`);
  }
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
  process.stdout.write(`| ${head.join(' | ')} |\n|${head.map(() => '---|').join('')}\n${lines.join('\n')}\n\n`);
  for (const line of [...(await sizes()), ...(await removal(levels.at(-1)?.sessions ?? 0))])
    process.stdout.write(`${line}\n`);
} finally {
  for (const child of children) child.kill();
  await client.end();
  await postgres.stop();
  rmSync(dir, { recursive: true });
}

function next(): number {
  serial += 1;
  return serial;
}

async function start(): Promise<Instance> {
  const env = {
    ...process.env,
    PORT: '0',
    DATA_DIR: dir,
    DATABASE_URL: postgres.url,
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_MINUTE: '1000000000',
    PIN_ENCRYPTION_KEY: 'a'.repeat(64),
    USSD_DAILY_FROM: '2020-01-01',
  };
  const child = fork(fileURLToPath(new URL('service.ts', import.meta.url)), { env });
  children.push(child);
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return { url, child };
}

/** Rows like those that the service writes; half of the sessions were opened yesterday. */
async function fill(from: (typeof levels)[0], to: (typeof levels)[0]): Promise<void> {
  const started = performance.now();
  const yesterday = new Date((day - 1) * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
  for (const table of ['ussd_session_day', 'ussd_effect_day'])
    await client.query(
      `create table if not exists ${table}_${yesterday} partition of ${table} for values in (${day - 1})`,
    );
  await client.query(`insert into ussd_account (id, phone, name, pin, failed, locks, created_at)
    select gen_random_uuid(), '+25471' || lpad(n::text, 8, '0'), 'Name ' || n, repeat('p', 150), 0, 0, 1
    from generate_series(${from.accounts + 1}, ${to.accounts}) as n`);
  await client.query(`insert into ussd_profile (phone, language)
    select '+25471' || lpad(n::text, 8, '0'), 'en' from generate_series(${from.accounts + 1}, ${to.accounts}) as n`);
  await client.query(`insert into ussd_session_day (day, id, phone, service_code, version, status, text_hash, text_length, opening,
      dialogue, reply, opened_at, seen_at)
    select ${day} - n % 2, 'full-' || n, '+25471' || lpad(n::text, 8, '0'), '*1234#', 3, n % 2, md5(n::text), 3, 'en',
      '{"f":1,"s":"about","l":"en","b":["preMenu"]}', rpad('CON ', 120, 'x'), ${Date.now()}, ${Date.now()}
    from generate_series(${from.sessions + 1}, ${to.sessions}) as n`);
  await client.query(`insert into ussd_effect_day (day, key, phone, result, created_at)
    select ${day} - n % 2, md5(n::text) || md5('e' || n), '+25471' || lpad(n::text, 8, '0'), '{"outcome":"filed"}', ${Date.now()}
    from generate_series(${from.sessions + 1}, ${to.sessions}) as n`);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  process.stderr.write(`filled in ${Math.round((performance.now() - started) / 1000)} s\n`);
}

type Dialogue = (say: (text: string) => Promise<string>) => Promise<void>;

async function keyPresses(say: Parameters<Dialogue>[0]): Promise<void> {
  for (const text of ['', '1', '1*0', '1*0*3']) await say(text);
}

async function fileReport(say: Parameters<Dialogue>[0]): Promise<void> {
  await say(`3*1*${next()}*${pin}`);
}

/** So many dialogues by a few callers at once, each request to the other instance than the one before. */
async function measure(instances: Instance[], count: number, dialogue: Dialogue): Promise<Cost> {
  const times: number[] = [];
  let begun = 0;
  const say = async (phoneNumber: string, sessionId: string, text: string) => {
    const url = instances[(times.length + begun) % instances.length]?.url;
    const body = JSON.stringify({ sessionId, serviceCode: '*1234#', phoneNumber, text });
    const at = performance.now();
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const reply = await (await fetch(`${url}/api/ussd`, init)).text();
    times.push(performance.now() - at);
    if (!/^(CON|END) /.test(reply) || /unavailable/.test(reply)) throw new Error(reply);
    return reply;
  };
  const phones = Array.from({ length: callers }, () => `+2547${String(next() + 20_000_000).padStart(8, '0')}`);
  for (const phone of phones) await say(phone, `register-${phone}`, `2*1*Ana*${pin}*${pin}`);
  times.length = 0;
  const before = await readCpu(instances);
  const pagesBefore = await readPages();
  await Promise.all(
    phones.map(async (phone) => {
      while (begun < count) {
        begun += 1;
        const session = `run-${next()}-${phone}`;
        await dialogue((text) => say(phone, session, text));
      }
    }),
  );
  const cpu = ((await readCpu(instances)) - before) / times.length;
  const pages = ((await readPages()) - pagesBefore) / times.length;
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), cpu, pages };
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

async function readPages(): Promise<number> {
  // Connections report what they did when they have been idle for a second.
  await sleep(2_000);
  await client.query('select pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ pages: string }>(
    'select blks_hit + blks_read as pages from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]?.pages);
}

async function sizes(): Promise<string[]> {
  const { rows } = await client.query<{ name: string; bytes: string; rows: string }>(`
    select regexp_replace(relname, '_[0-9]{8}$', '') as name, sum(pg_total_relation_size(oid)) as bytes, sum(reltuples) as rows
    from pg_class where relkind = 'r' and relname like 'ussd%' and reltuples > 1000 group by 1 order by 1`);
  return rows.map(
    ({ name, bytes, rows: count }) => `${name}: ${Math.round(Number(bytes) / Number(count))} bytes a row`,
  );
}

/** The same rows removed by a delete and by dropping their partition. */
async function removal(sessions: number): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ussd_session_day'::regclass order by 1`,
  );
  const time = async (statement: string) => {
    const at = performance.now();
    await client.query(statement);
    return `${Math.round(performance.now() - at)} ms`;
  };
  const [yesterday, today] = rows.map(({ name }) => name);
  const deleted = await time(`delete from ${today} where id like 'full-%'`);
  return [`${sessions / 2} sessions: deleted in ${deleted}, dropped in ${await time(`drop table ${yesterday}`)}`];
}
