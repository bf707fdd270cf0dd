// What a key press costs while the tables grow: databases of three sizes on one PostgreSQL, measured slice by slice.
// Each has two instances, so that most key presses read their session from the database.
// `npm run bench:ussd-scale`, about five minutes and 5 GB of disk; BENCH_SCALE=0.1 is a tenth of the rows.
import type pg from 'pg';
import { createDatabase, openBench, type Program, quantile, readPages } from '../harness.ts';

interface Level {
  accounts: number;
  sessions: number;
  client: pg.Client;
  instances: Program[];
  /** Of registered callers. */
  phones: string[];
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

await using bench = openBench();
const server = await bench.startPostgres();
const levels: Level[] = [];
for (const size of sizes) levels.push(await openLevel(size));
const presses = await measureInTurns(levels, dialoguesPerSlice, keyPresses);
const reports = await measureInTurns(levels, reportsPerSlice, fileReport);
console.table(
  levels.map(({ accounts, sessions }, index) => ({
    accounts,
    sessions,
    ...toCells('key press', presses[index]),
    ...toCells('report with PIN', reports[index]),
  })),
);
const largest = levels.at(-1);
if (largest)
  for (const line of [...(await measureRows(largest)), ...(await measureRemoval(largest))]) console.log(line);

function toCells(what: string, { pages, cpu, p50, p99 }: Cost = { pages: 0, cpu: '', p50: 0, p99: 0 }) {
  return {
    [`${what}: pages`]: pages.toFixed(1),
    [`${what}: CPU ms`]: cpu,
    [`${what}: p50 ms`]: p50.toFixed(1),
    [`${what}: p99 ms`]: p99.toFixed(1),
  };
}

function next(): number {
  serial += 1;
  return serial;
}

async function openLevel(size: (typeof sizes)[0]): Promise<Level> {
  const { url, client } = await createDatabase(bench, server);
  // One checkpoint at the end instead of one every few seconds while the tables are filled; vacuum would count as pages read.
  await client.query("alter system set max_wal_size = '8GB'");
  await client.query('alter system set autovacuum = off');
  await client.query('select pg_reload_conf()');
  const instances = [await start(url), await start(url)];
  await fill(client, size);
  const phones = Array.from({ length: callers }, () => `+2547${String(next() + 20_000_000).padStart(8, '0')}`);
  for (const phone of phones) await say(instances[0], phone, `register-${phone}`, `2*1*Ana*${pin}*${pin}`);
  return { ...size, client, instances, phones };
}

function start(databaseUrl: string): Promise<Program> {
  return bench.startService('ussd', {
    DATA_DIR: bench.dir,
    DATABASE_URL: databaseUrl,
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_MINUTE: '1000000000',
    PIN_ENCRYPTION_KEY: 'a'.repeat(64),
  });
}

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
    const before = await readPages(level.client);
    const { times } = await runSlice(level, count, dialogue);
    pages.push(((await readPages(level.client)) - before) / times.length);
  }
  const slices: Slice[][] = levels.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, level] of levels.entries()) slices[index]?.push(await runSlice(level, count, dialogue));
  return slices.map((own, index) => {
    const times = own.flatMap((slice) => slice.times);
    const cpus = own.map(({ cpu }) => cpu);
    const [median, low, high] = [0.5, 0, 1].map((share) => quantile(cpus, share).toFixed(2));
    return {
      cpu: `${median} (${low} to ${high})`,
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
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
  instance: Program | undefined,
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

async function readCpu(instances: Program[]): Promise<number> {
  const usages = await Promise.all(instances.map(({ usage }) => usage()));
  return usages.reduce((sum, { cpuMicros }) => sum + cpuMicros / 1000, 0);
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
