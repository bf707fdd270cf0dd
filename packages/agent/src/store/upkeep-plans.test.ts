import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, recordStatements, waitFor } from '@palaver/test-kit';
import { type Kysely, sql } from 'kysely';
import { expect, test } from 'vitest';
import {
  createFileStore,
  type FileDatabase,
  fileMigrations,
} from '../../../agent-plugins/src/attachments/file-store.ts';
import { agentMigrations } from './migrate.ts';
import { deleteExpired, removeSettled } from './retention.ts';
import { createRunStore } from './runs.ts';
import type { AgentDatabase } from './schema.ts';
import { createSessionStore } from './sessions.ts';

const runs = 20_000;
/** Past their time; the others are of today. */
const old = 300;
const hour = 3_600_000;

/** Ended runs with everything that belongs to them. */
async function fill(db: Kysely<AgentDatabase>): Promise<void> {
  const at = sql.raw(`case when n <= ${old} then 1 else (extract(epoch from clock_timestamp()) * 1000)::bigint end`);
  const numbers = sql.raw(`generate_series(1, ${runs}) as n`);
  for (const statement of [
    sql`insert into agent_session (id, user_did, title, named, room_id, created_at, updated_at)
      select 's' || n, 'u', 't', 1, 'r', ${at}, ${at} from ${numbers}`,
    sql`insert into agent_run (id, session_id, user_did, request_id, message_id, instance, status, model, number,
        created_at, ended_at)
      select 'r' || n, 's' || n, 'u', 'q', 'm' || n, 'one', 'complete', 'm', 1, ${at}, ${at} from ${numbers}`,
    sql`insert into agent_message (id, session_id, run_id, position, number, type, content, status, request_id, created_at)
      select 'm' || n, 's' || n, 'r' || n, 'p', 1, 'ai', 'c', 'complete', 'q', ${at} from ${numbers}`,
    sql`insert into agent_frame (run_id, first, last, body, created_at)
      select 'r' || n, 1, 1, 'b', ${at} from ${numbers}`,
    sql`insert into agent_step (run_id, number, said, body, created_at)
      select 'r' || n, 0, 0, 'b', ${at} from ${numbers}`,
    sql`insert into agent_send (user_did, key, run_id, body_hash, created_at)
      select 'u', 'k' || n, 'r' || n, 'h', ${at} from ${numbers}`,
    sql`analyze`,
  ])
    await statement.execute(db);
}

async function readSequentially(db: Kysely<AgentDatabase>): Promise<{ name: string; rows: number }[]> {
  await sql`select pg_stat_force_next_flush()`.execute(db);
  const { rows } = await sql<{ name: string; rows: number }>`select relname as name, seq_tup_read as rows
    from pg_stat_user_tables where relname like 'agent%' order by 1`.execute(db);
  return rows;
}

test('PostgreSQL: the sweep for interrupted runs and retention read no table whole', async () => {
  await using database = await createTestDatabase('postgres');
  const store = await openStore<AgentDatabase>(database.url, { poolSize: 1 });
  const { db } = store;
  await store.migrate('agent', agentMigrations);
  await fill(db);
  const before = await readSequentially(db);
  const runStore = createRunStore(store);
  expect(await runStore.listInterrupted({ instance: 'two', isAlone: false, limit: 20 })).toEqual([]);
  const rules = {
    framesMs: hour,
    sendsMs: hour,
    runsMs: hour,
    messagesMs: hour,
    sessionsMs: hour,
    delegationsMs: hour,
  };
  expect(await deleteExpired(store, rules)).toBe(old);
  const after = await readSequentially(db);
  const whole = after.filter(({ rows }, index) => rows - (before[index]?.rows ?? 0) >= runs - old);
  expect(whole).toEqual([]);
  await store.close();
});

test('PostgreSQL: retention reads its own rows, also where the statistics know nothing of what is old', async () => {
  await using database = await createTestDatabase('postgres');
  const store = await openStore<Record<string, never>>(database.url, { poolSize: 1 });
  const { db } = store;
  for (const statement of [
    sql`create table goat_sale (n integer primary key, status text, paid_at bigint)`,
    sql`create index goat_sale_paid on goat_sale (status, paid_at)`,
    sql`insert into goat_sale select n, 'open', 1e15 + n from generate_series(1, 5000) as n`,
    sql`analyze`,
    sql`update goat_sale set status = 'paid', paid_at = n`,
  ])
    await statement.execute(db);
  using recorded = recordStatements();
  const rules = [{ table: 'goat_sale', time: 'paid_at', statuses: ['paid'] }];
  const logger = createLogger({ name: 'test', level: 'silent' });
  const removing = removeSettled({ store, logger, days: 1, rules, everyMs: 10 });
  const count = async () => (await sql<{ n: number }>`select count(*) as n from goat_sale`.execute(db)).rows[0]?.n;
  await waitFor('removal', async () => Number(await count()) === 0, 20_000);
  await removing.stop();
  await sql`insert into goat_sale select n, 'paid', n from generate_series(1, 5000) as n`.execute(db);
  const [text = ''] = [...recorded.statements.keys()].filter((key) => key.startsWith('delete'));
  const { rows } = await sql<{ 'QUERY PLAN': string }>`explain (analyze) ${sql.raw(text)}`.execute(db);
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).not.toContain('Rows Removed by Filter');
  await store.close();
});

test('PostgreSQL: the sweep for files and the check of a new session read no table', async () => {
  await using database = await createTestDatabase('postgres');
  const store = await openStore<AgentDatabase & FileDatabase>(database.url, { poolSize: 1 });
  const { db } = store;
  await store.migrate('agent', agentMigrations);
  await store.migrate('files', fileMigrations);
  const oracle = { name: 'T', did: 'd', keyDid: 'd', signingDid: 'd' };
  const sessions = createSessionStore(store as never, oracle);
  const files = createFileStore(store as never, {
    limits: { filesPerDay: 1, bytesPerDay: 1, bytesPerClientPerDay: 1 },
    referenceOf: (did) => did,
  });
  const numbers = sql.raw(`generate_series(1, ${runs}) as n`);
  await sql`insert into agent_session
      (id, user_did, title, named, room_id, metadata, initial_bytes, created_at, updated_at)
    select 's' || n, 'u' || n % 10, 't', 1, 'r', repeat('x', 100), 100, 1, 1 from ${numbers}`.execute(db);
  await sql`insert into agent_file (id, user_did, session_id, filename, mimetype, size, secret, created_at)
    select 'f' || n, 'u', 's' || n, 'f', 'm', 1, 's', 1 from ${numbers}`.execute(db);
  await sql`insert into agent_file_object (id, file_id) select 'f' || n, 'f' || n from ${numbers}`.execute(db);
  await sql`vacuum analyze`.execute(db);
  expect(await files.orphans(100)).toEqual([]);
  // The bytes of a file are removed after the session that it went with.
  await sql`delete from agent_session where id = 's7'`.execute(db);
  const before = await readSequentially(db as never);
  expect(await files.orphans(100)).toEqual(['f7']);
  await sessions.create('u1', { metadata: { note: 'goats' } });
  const after = await readSequentially(db as never);
  expect(after.filter(({ rows }, index) => rows - (before[index]?.rows ?? 0) >= 100)).toEqual([]);
  const { rows: plan } = await sql<
    Record<string, string>
  >`explain select count(*), sum(initial_bytes) from agent_session
    where user_did = 'u1'`.execute(db);
  expect(JSON.stringify(plan)).toContain('Index Only Scan using agent_session_initial');
  await store.close();
});
