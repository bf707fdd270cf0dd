import { baseVariables, type Env, loadConfig } from '@palaver/service-kit';
import { toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { type Migration, openStore, type Store } from '@palaver/store';
import { auditMigrations, type CipherStore, openCipher } from '@palaver/store/internal';
import { sql } from 'kysely';
import { z } from 'zod';
import type { OraclePlugin } from '../define/plugin.ts';
import { migratePlugin } from '../define/start-plugins.ts';
import type { AgentDatabase } from './schema.ts';

const ofSession = sql`text not null references agent_session (id) on delete cascade`;
const ofRun = sql`text not null references agent_run (id) on delete cascade`;

const firstSchema = [
  sql`create table agent_session (
    id text primary key, user_did text not null, title text not null, named integer not null, room_id text not null,
    metadata text, created_at bigint not null, updated_at bigint not null, run_count bigint not null default 0,
    initial_bytes integer not null default 0)`,
  sql`create index agent_session_by_user on agent_session (user_did, updated_at desc, id)`,
  sql`create index agent_session_initial on agent_session (user_did, initial_bytes)`,
  sql`create index agent_session_by_time on agent_session (updated_at)`,
  sql`create table agent_run (
    id text primary key, session_id ${ofSession}, user_did text not null, request_id text not null,
    message_id text not null, instance text not null, status text not null, model text not null, input_tokens integer,
    output_tokens integer, created_at bigint not null, started_at bigint, changed_at bigint, ended_at bigint,
    number bigint not null, active integer, epoch integer not null default 0, deaths integer not null default 0,
    aborting integer not null default 0, swept integer not null default 0, input text)`,
  sql`create index agent_run_by_session on agent_run (session_id, id)`,
  sql`create index agent_run_queue on agent_run (session_id, number) where ended_at is null`,
  sql`create index agent_run_live on agent_run (instance) where ended_at is null`,
  sql`create index agent_run_by_user on agent_run
    (user_did, (coalesce(ended_at, changed_at, started_at, created_at)), id)`,
  sql`create index agent_run_by_end on agent_run (ended_at) where ended_at is not null`,
  // The database itself keeps a second run of a session from starting.
  sql`create unique index agent_run_active on agent_run (session_id) where active = 1`,
  sql`create table agent_message (
    id text primary key, session_id ${ofSession}, run_id text not null, position text not null, number bigint not null,
    type text not null, content text not null, status text not null, request_id text not null, extras text, hidden text,
    created_at bigint not null)`,
  sql`create unique index agent_message_by_position on agent_message (session_id, position)`,
  sql`create index agent_message_by_number on agent_message (session_id, number)`,
  sql`create index agent_message_by_time on agent_message (created_at)`,
  sql`create table agent_replaced (
    session_id ${ofSession}, first bigint not null, last bigint not null, primary key (session_id, last))`,
  sql`create table agent_summary (
    session_id text primary key references agent_session (id) on delete cascade, text text not null, up_to text not null,
    capabilities text not null, updated_at bigint not null)`,

  sql`create table agent_frame (
    run_id ${ofRun}, first bigint not null, last bigint not null, body text not null, created_at bigint not null,
    primary key (run_id, first))`,
  sql`create index agent_frame_by_time on agent_frame (created_at)`,
  sql`create table agent_step (
    run_id ${ofRun}, number integer not null, said integer not null, body text not null, outcomes text,
    created_at bigint not null, primary key (run_id, number))`,
  sql`create index agent_step_by_time on agent_step (created_at)`,
  sql`create table agent_send (
    user_did text not null, key text not null, run_id ${ofRun}, body_hash text not null, created_at bigint not null,
    primary key (user_did, key))`,
  sql`create index agent_send_by_time on agent_send (created_at)`,
  sql`create index agent_send_by_run on agent_send (run_id)`,
  sql`create table agent_approval (
    id text primary key, run_id ${ofRun}, user_did text not null, call_id text not null, tool_name text not null,
    args text not null, status text not null, asked_at bigint not null, expires_at bigint not null, answered_at bigint,
    answered_by text, reason text, streamed integer not null default 0, capability text, invocation text, signed text)`,
  sql`create index agent_approval_by_run on agent_approval (run_id)`,
  sql`create index agent_approval_by_user on agent_approval (user_did)`,
  sql`create index agent_approval_pending on agent_approval (expires_at) where status = 'pending'`,
  sql`create table agent_instance (id text primary key, seen_at bigint not null)`,
  sql`create table agent_lease (id text primary key, claimed_by text, lease_until bigint not null)`,

  sql`create table agent_delegation (
    cid text not null, user_did text not null, agent_did text not null, expires_at bigint not null, stored_at bigint,
    sent_downstream integer not null, revoked integer not null, sealed text, capabilities text,
    primary key (cid, user_did))`,
  sql`create index agent_delegation_by_user on agent_delegation (user_did, expires_at)`,
  sql`create index agent_delegation_by_expiry on agent_delegation (expires_at)`,
];

export const agentMigrations: readonly Migration[] = [
  {
    name: '0001',
    async up(db) {
      for (const statement of firstSchema) await statement.execute(db);
    },
  },
];

/** Brings the tables of the agent itself up to date, those of its audit log included, and opens its cipher. */
export async function migrateAgentTables(store: CipherStore & Pick<Store<AgentDatabase>, 'migrate'>): Promise<void> {
  await store.migrate('audit', auditMigrations);
  await openCipher(store);
  await store.migrate('agent', agentMigrations);
}

/** Brings the agent's database up to date without starting the agent: its own tables, and those of the plugins. */
export async function migrateAgent(env: Env, plugins: readonly OraclePlugin[]): Promise<void> {
  const config = loadConfig(z.object(baseVariables({ port: 0 })), env);
  const store = await openStore<AgentDatabase>(toDatabaseUrl(config, 'agent'), {
    ...toStoreOptions(config),
    migrations: 'apply',
  });
  try {
    await migrateAgentTables(store);
    for (const plugin of plugins) await migratePlugin(plugin, store);
  } finally {
    await store.close();
  }
}
