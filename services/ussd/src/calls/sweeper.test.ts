import { openStore } from '@palaver/store';
import { createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { type Kysely, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { migrateUssd } from '../store/migrations.ts';
import { toSweepStatements } from '../store/sweep-statements.ts';
import type { UssdTables } from '../store/tables.ts';
import { createSessionCache } from './session.ts';
import { sweep } from './sweeper.ts';

const day = 24 * 3_600_000;
const timeoutMs = 180_000;
const resumeMs = 30 * 60_000;
const retentionMs = 24 * 3_600_000;

async function openTables(engine: (typeof engines)[number]) {
  const database = await createTestDatabase(engine);
  const store = await openStore<UssdTables>(database.url, { statementTimeoutMs: 60_000, poolSize: 20 });
  await migrateUssd(store);
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** `count` rows of each table, half of them at `at` and half of them now. */
async function fill(db: Kysely<UssdTables>, engine: string, count: number, at: number): Promise<void> {
  const numbers =
    engine === 'postgres'
      ? sql`select n from generate_series(1, ${sql.lit(count)}) as n`
      : sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(count)}) select n from numbers`;
  const time = sql`case when n % 2 = 0 then cast(${at} as bigint) else cast(${Date.now()} as bigint) end`;
  for (const statement of [
    sql`insert into ussd_session select 's' || n, '+' || n, '*1#', 1, n % 3, 'h', 1, 'en', '{"s":"preMenu","l":"en"}', ${'CON '.padEnd(160, 'x')}, ${time}, ${time} from (${numbers}) as numbers`,
    sql`insert into ussd_action_result (key, phone, result, created_at) select 'e' || n, '+1', '{"outcome":"yes"}', ${time} from (${numbers}) as numbers`,
    sql`insert into ussd_question select 'q' || n, '+' || n, 'why', 'answered', 'so', ${time}, 0 from (${numbers}) as numbers`,
    sql`insert into ussd_link select 'l' || n, 'o' || n, 'did:x:a', 'ixo1a', ${time} + 3600000 from (${numbers}) as numbers`,
    sql`insert into ussd_input select 'i' || n, '+' || n, 1, 'sealed', ${time} + 3600000 from (${numbers}) as numbers`,
    sql`insert into ussd_profile (phone, language, resume, resume_at) select '+' || n, 'en', case when n % 4 = 0 then '{}' end, ${time} from (${numbers}) as numbers`,
  ]) {
    await statement.execute(db);
  }
  if (engine === 'postgres') await sql`analyze`.execute(db);
}

async function countRows(db: Kysely<UssdTables>): Promise<number[]> {
  const tables = [
    'ussd_session',
    'ussd_action_result',
    'ussd_question',
    'ussd_input',
    'ussd_link',
    'ussd_profile',
  ] as const;
  const counts = tables.map((table) =>
    db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow(),
  );
  return (await Promise.all(counts)).map(({ count }) => Number(count));
}

describe.each(engines)('sweeping on %s', (engine) => {
  test('removes everything that is old, in batches, and nothing else', async () => {
    await using tables = await openTables(engine);
    const { store } = tables;
    await fill(store.db, engine, 3_000, Date.now() - day - 1_000);
    const cache = createSessionCache(10);
    const parts = { store, cache, timeoutMs, resumeMs, retentionMs, batchSize: 100, budgetMs: 60_000 };
    expect(await sweep(parts, Date.now())).toBe('done');
    expect(await countRows(store.db)).toEqual([1_500, 1_500, 1_500, 1_500, 1_500, 3_000]);
    const forms = await store.db.selectFrom('ussd_profile').select('phone').where('resume', 'is not', null).execute();
    expect(forms).toEqual([]);
    expect(await sweep({ ...parts, budgetMs: -1 }, Date.now())).toBe('late');
  });
});

test('PostgreSQL: every statement of a sweep, and the load of a batch, finds its rows by an index', async () => {
  await using tables = await openTables('postgres');
  const { db } = tables.store;
  await fill(db, 'postgres', 12_000, Date.now() - day - 1_000);
  const limits = { engine: 'postgres', now: Date.now(), timeoutMs, resumeMs, retentionMs, batchSize: 1_000 } as const;
  const batch = sql`select * from ussd_session where id = any(array(select json_array_elements_text(${'["s1","s2"]'}::json)))`;
  for (const statement of [...toSweepStatements(limits), batch]) {
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${statement}`.execute(db);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Index (Only )?Scan/);
    expect(plan).not.toContain('Seq Scan');
  }
});

test('PostgreSQL: a batch reads its own rows, also where the statistics know nothing of what has expired', async () => {
  await using tables = await openTables('postgres');
  const { db } = tables.store;
  await fill(db, 'postgres', 4_000, Date.now() - day - 1_000);
  await sql`update ussd_session set status = 1`.execute(db);
  await sql`analyze`.execute(db);
  await sql`update ussd_session set status = 2`.execute(db);
  const limits = { engine: 'postgres', now: Date.now(), timeoutMs, resumeMs, retentionMs, batchSize: 100 } as const;
  for (const statement of toSweepStatements(limits)) {
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain (analyze) ${statement}`.execute(db);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    const ignored = [...plan.matchAll(/Rows Removed by Filter: (\d+)/g)].map(([, count]) => Number(count));
    expect(Math.max(0, ...ignored), plan).toBeLessThanOrEqual(100);
  }
});

test('PostgreSQL: a row that changes while it is swept is kept', async () => {
  await using tables = await openTables('postgres');
  const { store } = tables;
  const now = Date.now();
  const old = now - 100 * day;
  for (const statement of [
    sql`insert into ussd_session values ('s', '+1', '*1#', 1, 1, 'h', 1, 'en', '{}', 'CON', ${old}, ${old})`,
    sql`insert into ussd_profile (phone, resume, resume_at) values ('+1', '{}', ${old})`,
    sql`insert into ussd_submission values ('m', 'p', 'f', '1', '+1', '', '{}', ${old}, 'sent', 1, null, null)`,
    sql`insert into ussd_sms values ('m', 'p', '+1', '+1', '', ${old}, 'failed', 1, null, null)`,
    sql`insert into ussd_input values ('s', '+1', 1, 'sealed', ${old})`,
    sql`insert into ussd_link values ('l', 'o', 'did:x:a', 'ixo1a', ${old})`,
  ])
    await statement.execute(store.db);
  const periods = { timeoutMs, resumeMs, retentionMs, submissionsMs: day, smsMs: day };
  const swept = await store.transaction(async (trx) => {
    for (const statement of [
      sql`update ussd_session set seen_at = ${now}`,
      sql`update ussd_profile set resume_at = ${now}`,
      sql`update ussd_submission set status = 'queued'`,
      sql`update ussd_sms set status = 'queued'`,
      sql`update ussd_input set kept_until = ${now + day}`,
      sql`update ussd_link set expires_at = ${now + day}`,
    ])
      await statement.execute(trx);
    const limits = { engine: 'postgres', now, batchSize: 10, ...periods } as const;
    const sweeping = toSweepStatements(limits).map((statement) => statement.execute(store.db));
    const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await waitFor('six statements to wait', async () => (await waiting.execute(store.db)).rows.length === 6);
    return { sweeping };
  });
  await Promise.all(swept.sweeping);
  const left =
    await sql`select (select status from ussd_session) as session, (select resume from ussd_profile) as resume,
    (select count(*) from ussd_submission) as submissions, (select count(*) from ussd_sms) as messages,
    (select count(*) from ussd_input) as inputs, (select count(*) from ussd_link) as links`.execute(store.db);
  expect(left.rows).toEqual([{ session: 1, resume: '{}', submissions: 1, messages: 1, inputs: 1, links: 1 }]);
});

test('PostgreSQL: instances sweep one at a time', async () => {
  await using tables = await openTables('postgres');
  const { store } = tables;
  await fill(store.db, 'postgres', 2_000, Date.now() - day - 1_000);
  const parts = {
    store,
    cache: createSessionCache(10),
    timeoutMs,
    resumeMs,
    retentionMs,
    batchSize: 10,
    budgetMs: 60_000,
  };
  const results = await Promise.all([1, 2, 3].map(() => sweep(parts, Date.now())));
  expect(results).toContain('done');
  expect(await countRows(store.db)).toEqual([1_000, 1_000, 1_000, 1_000, 1_000, 2_000]);
});

test('PostgreSQL: a backlog of several hundred thousand rows is gone after some sweeps', async () => {
  await using tables = await openTables('postgres');
  const { store } = tables;
  await fill(store.db, 'postgres', 200_000, Date.now() - day - 1_000);
  const parts = { store, cache: createSessionCache(10), timeoutMs, resumeMs, retentionMs };
  const started = performance.now();
  let sweeps = 1;
  while ((await sweep(parts, Date.now())) !== 'done') sweeps += 1;
  const seconds = (performance.now() - started) / 1000;
  const rows = 450_000;
  process.stderr.write(`swept ${rows} rows in ${sweeps} sweeps, ${Math.round(rows / seconds)} rows/s\n`);
  expect(await countRows(store.db)).toEqual([100_000, 100_000, 100_000, 100_000, 100_000, 200_000]);
});
