import { openStore, type Store } from '@palaver/store';
import { createTestDatabase } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createActionResults } from '../session/action-results.ts';
import type { Session } from '../session/session.ts';
import { createSessionStore } from '../session/session-store.ts';
import { toSweepStatements } from '../session/sweep-statements.ts';
import { dayMs, openDailyTables } from './daily-tables.ts';
import { migrateUssd } from './migrations.ts';
import type { UssdTables } from './tables.ts';

const today = 20_700;
const midnight = (today + 1) * dayMs;
const options = { from: 1, retentionMs: dayMs };

/** One database, and stores on it with connections of their own, as instances have them. */
async function openInstances() {
  const database = await createTestDatabase('postgres');
  const stores: Store<UssdTables>[] = [];
  for (let index = 0; index < 2; index += 1) stores.push(await openStore<UssdTables>(database.url));
  const [one, two] = stores as [Store<UssdTables>, Store<UssdTables>];
  await migrateUssd(one);
  const daily = await openDailyTables(one, options, midnight - 1);
  return {
    one,
    two,
    daily,
    async listPartitions() {
      const rows = await sql<{ name: string }>`select inhrelid::regclass::text as name from pg_inherits
        where inhparent = 'ussd_session_day'::regclass order by 1`.execute(one.db);
      return rows.rows.map(({ name }) => name);
    },
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

const toSession = (id: string, at: number, day: number): Session => ({
  id,
  phone: '+254700000001',
  serviceCode: '*1#',
  version: 1,
  status: 1,
  textHash: 'h',
  textLength: 0,
  opening: 'en',
  dialogue: '{}',
  reply: 'CON x',
  openedAt: at,
  seenAt: at,
  day,
});

test('there is a partition for today and for tomorrow, and those past their time are dropped', async () => {
  await using own = await openInstances();
  expect(await own.listPartitions()).toEqual(['ussd_session_day_20260904', 'ussd_session_day_20260905']);
  await own.daily.rotate(midnight);
  await own.daily.rotate(midnight + dayMs);
  // Sessions of the fourth may have gone on until the fifth, and are kept for a day from then on.
  expect(await own.listPartitions()).toHaveLength(4);
  await own.daily.rotate(midnight + 2 * dayMs);
  expect(await own.listPartitions()).toEqual([
    'ussd_session_day_20260905',
    'ussd_session_day_20260906',
    'ussd_session_day_20260907',
    'ussd_session_day_20260908',
  ]);
  // Another instance starts, later and with nothing to do.
  await openDailyTables(own.two, options, midnight + 2 * dayMs);
  expect(await own.listPartitions()).toHaveLength(4);
});

test('two instances that open one session at midnight, one on either day: one of them does', async () => {
  await using own = await openInstances();
  const stores = [own.one, own.two].map((store) => createSessionStore(store, { timeoutMs: 1, daily: own.daily }));
  const sides = [midnight - 1, midnight].map((at) => ({ at, day: own.daily.dayOf(at) }));
  for (let round = 0; round < 30; round += 1) {
    const saved = await Promise.all(
      stores.map((sessions, index) => {
        const { at = 0, day = 0 } = sides[index] ?? {};
        return sessions.save({ session: toSession(`s${round}`, at, day) });
      }),
    );
    expect(saved.filter(Boolean)).toHaveLength(1);
  }
  const { rows } = await sql`select id from ussd_session_day`.execute(own.one.db);
  expect(rows).toHaveLength(30);
});

test('an action that runs twice at midnight, once on either day, has its side effect once', async () => {
  await using own = await openInstances();
  await sql`create table done (key text)`.execute(own.one.db);
  const results = [own.one, own.two].map((store, index) =>
    createActionResults(store, { now: () => midnight - 1 + index }, own.daily),
  );
  for (let round = 0; round < 30; round += 1) {
    const key = `k${round}`;
    const outcomes = await Promise.all(
      results.map(({ commit }, index) =>
        commit({ key, phone: '+1' }, async (trx) => {
          await sql`insert into done values (${key})`.execute(trx);
          return { outcome: `by ${index}` } as never;
        }),
      ),
    );
    expect(outcomes[0]).toEqual(outcomes[1]);
    expect(await results[0]?.find(key)).toEqual(outcomes[0]);
  }
  const { rows } = await sql`select key from done`.execute(own.one.db);
  expect(rows).toHaveLength(30);
});

test('a session that is open on the day before is not opened a second time', async () => {
  await using own = await openInstances();
  const sessions = createSessionStore(own.one, { timeoutMs: 1, daily: own.daily });
  const noon = midnight - dayMs / 2;
  expect(await sessions.save({ session: toSession('early', noon, 0) })).toBe(true);
  expect(await sessions.save({ session: toSession('yesterday', noon, today) })).toBe(true);
  for (const id of ['early', 'yesterday'])
    expect(await sessions.save({ session: toSession(id, noon + dayMs, today + 1) })).toBe(false);
  expect(await sessions.load('early')).toMatchObject({ day: 0, openedAt: noon });
  expect(await sessions.load('yesterday')).toMatchObject({ day: today, openedAt: noon });
  const next = { ...toSession('yesterday', noon, today), version: 2, seenAt: midnight + 1 };
  expect(await sessions.save({ session: next })).toBe(true);
  expect(await sessions.save({ session: next })).toBe(false);
});

test('columns that a later version adds to the tables without partitions are added by the next start', async () => {
  await using own = await openInstances();
  await sql`alter table ussd_session add column program text not null default 'main'`.execute(own.one.db);
  await openDailyTables(own.two, options, midnight);
  const { rows } = await sql`select attname, attnotnull from pg_attribute
    where attrelid = 'ussd_session_day_20260905'::regclass and attname = 'program'`.execute(own.one.db);
  expect(rows).toEqual([{ attname: 'program', attnotnull: true }]);
});

test('a look-up and the sweep read no partition whole', async () => {
  await using own = await openInstances();
  const { db } = own.one;
  for (const day of [today, today + 1])
    await sql`insert into ussd_session_day select ${sql.lit(day)}, ${`${day}-`} || n, '+' || n, '*1#', 1, n % 3, 'h', 1, 'en', '{}', 'CON', 1, 1
      from generate_series(1, 12000) as n`.execute(db);
  await sql`analyze`.execute(db);
  const limits = {
    engine: 'postgres',
    now: midnight,
    timeoutMs: 1,
    resumeMs: 1,
    retentionMs: 1,
    batchSize: 1_000,
    isDaily: true,
  } as const;
  const expire = toSweepStatements(limits)[1] ?? sql``;
  const load = sql`select * from ussd_session_day where id = any(array(select json_array_elements_text(${'["a","b"]'}::json)))`;
  for (const statement of [expire, load]) {
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${statement}`.execute(db);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Index (Only )?Scan/);
    expect(plan).not.toContain('Seq Scan');
  }
});
