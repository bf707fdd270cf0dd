import { compareByBytes, createIndex, type Migration } from '@palaver/store';
import { sql } from 'kysely';
import { addRunQueue } from './migrate-run-queue.ts';

export const agentMigrations: readonly Migration[] = [
  {
    name: '001-sessions-runs-messages-delegations',
    async up(db) {
      await db.schema
        .createTable('agent_session')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('title', 'text', (column) => column.notNull())
        .addColumn('named', 'integer', (column) => column.notNull())
        .addColumn('room_id', 'text', (column) => column.notNull())
        .addColumn('metadata', 'text')
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('updated_at', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('agent_session_by_user')
        .on('agent_session')
        .columns(['user_did', 'updated_at desc', 'id'])
        .execute();
      await db.schema
        .createTable('agent_run')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('session_id', 'text', (column) =>
          column.notNull().references('agent_session.id').onDelete('cascade'),
        )
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('request_id', 'text', (column) => column.notNull())
        .addColumn('message_id', 'text', (column) => column.notNull())
        .addColumn('instance', 'text', (column) => column.notNull())
        .addColumn('status', 'text', (column) => column.notNull())
        .addColumn('model', 'text', (column) => column.notNull())
        .addColumn('input_tokens', 'integer')
        .addColumn('output_tokens', 'integer')
        .addColumn('partial', 'text')
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('ended_at', 'bigint')
        .execute();
      await db.schema.createIndex('agent_run_by_session').on('agent_run').columns(['session_id', 'id']).execute();
      await db.schema.createIndex('agent_run_by_status').on('agent_run').columns(['status', 'instance']).execute();
      await db.schema
        .createTable('agent_message')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('session_id', 'text', (column) =>
          column.notNull().references('agent_session.id').onDelete('cascade'),
        )
        .addColumn('run_id', 'text', (column) => column.notNull())
        .addColumn('position', 'text', (column) => column.notNull())
        .addColumn('type', 'text', (column) => column.notNull())
        .addColumn('content', 'text', (column) => column.notNull())
        .addColumn('status', 'text', (column) => column.notNull())
        .addColumn('request_id', 'text', (column) => column.notNull())
        .addColumn('extras', 'text')
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('agent_message_by_position')
        .on('agent_message')
        .columns(['session_id', 'position'])
        .unique()
        .execute();
      await db.schema
        .createTable('agent_delegation')
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('agent_did', 'text', (column) => column.notNull())
        .addColumn('cid', 'text', (column) => column.notNull())
        .addColumn('sealed', 'text', (column) => column.notNull())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .addColumn('stored_at', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('agent_delegation_pk', ['user_did', 'agent_did'])
        .execute();
      await db.schema
        .createTable('agent_revocation')
        .addColumn('cid', 'text', (column) => column.primaryKey())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .execute();
    },
  },
  {
    name: '002-summaries',
    async up(db) {
      await db.schema
        .createTable('agent_summary')
        .addColumn('session_id', 'text', (column) =>
          column.primaryKey().references('agent_session.id').onDelete('cascade'),
        )
        .addColumn('text', 'text', (column) => column.notNull())
        .addColumn('up_to', 'text', (column) => column.notNull())
        .addColumn('capabilities', 'text', (column) => column.notNull())
        .addColumn('updated_at', 'bigint', (column) => column.notNull())
        .execute();
    },
  },
  {
    name: '003-known-delegations',
    async up(db) {
      await db.schema
        .createTable('agent_known_delegation')
        .addColumn('cid', 'text', (column) => column.notNull())
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('agent_did', 'text', (column) => column.notNull())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .addColumn('stored', 'integer', (column) => column.notNull())
        .addColumn('sent_downstream', 'integer', (column) => column.notNull())
        .addColumn('revoked', 'integer', (column) => column.notNull())
        .addPrimaryKeyConstraint('agent_known_delegation_pk', ['cid', 'user_did'])
        .execute();
      await db.schema
        .createIndex('agent_known_delegation_by_user')
        .on('agent_known_delegation')
        .columns(['user_did', 'expires_at'])
        .execute();
      await sql`
        insert into agent_known_delegation (cid, user_did, agent_did, expires_at, stored, sent_downstream, revoked)
        select cid, user_did, agent_did, expires_at, 1, 0, 0 from agent_delegation`.execute(db);
    },
  },
  { name: '004-run-queue', up: addRunQueue },
  {
    name: '005-indexes-for-retention',
    concurrent: true,
    async up(db, engine) {
      await createIndex(db, engine, { name: 'agent_message_by_time', on: 'agent_message (created_at)' });
      await createIndex(db, engine, { name: 'agent_session_by_time', on: 'agent_session (updated_at)' });
    },
  },
  {
    name: '006-approvals',
    async up(db) {
      await db.schema
        .createTable('agent_approval')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('run_id', 'text', (column) => column.notNull().references('agent_run.id').onDelete('cascade'))
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('call_id', 'text', (column) => column.notNull())
        .addColumn('tool_name', 'text', (column) => column.notNull())
        .addColumn('args', 'text', (column) => column.notNull())
        .addColumn('status', 'text', (column) => column.notNull())
        .addColumn('asked_at', 'bigint', (column) => column.notNull())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .addColumn('answered_at', 'bigint')
        .addColumn('answered_by', 'text')
        .addColumn('reason', 'text')
        .execute();
      await db.schema.createIndex('agent_approval_by_run').on('agent_approval').column('run_id').execute();
      await db.schema.createIndex('agent_approval_by_user').on('agent_approval').column('user_did').execute();
      await sql`create index agent_approval_pending on agent_approval (expires_at) where status = 'pending'`.execute(
        db,
      );
    },
  },
  {
    name: '007-indexes-for-expired-delegations',
    concurrent: true,
    async up(db, engine) {
      for (const table of ['agent_delegation', 'agent_known_delegation', 'agent_revocation'])
        await createIndex(db, engine, { name: `${table}_by_expiry`, on: `${table} (expires_at)` });
    },
  },
  {
    name: '008-approvals-streamed',
    async up(db) {
      await db.schema
        .alterTable('agent_approval')
        .addColumn('streamed', 'integer', (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
  {
    name: '009-replaced-messages',
    async up(db) {
      await db.schema
        .createTable('agent_replaced')
        .addColumn('session_id', 'text', (column) =>
          column.notNull().references('agent_session.id').onDelete('cascade'),
        )
        .addColumn('first', 'bigint', (column) => column.notNull())
        .addColumn('last', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('agent_replaced_pk', ['session_id', 'last'])
        .execute();
    },
  },
  {
    name: '010-approvals-by-delegation',
    async up(db) {
      await db.schema.alterTable('agent_approval').addColumn('capability', 'text').execute();
      await db.schema.alterTable('agent_known_delegation').addColumn('sealed', 'text').execute();
      await sql`
        update agent_known_delegation set sealed = (
          select sealed from agent_delegation
          where agent_delegation.cid = agent_known_delegation.cid
            and agent_delegation.user_did = agent_known_delegation.user_did
            and agent_delegation.agent_did = agent_known_delegation.agent_did)`.execute(db);
    },
  },
  {
    name: '011-approvals-by-invocation',
    async up(db) {
      await db.schema.alterTable('agent_approval').addColumn('invocation', 'text').execute();
      await db.schema.alterTable('agent_approval').addColumn('signed', 'text').execute();
    },
  },
  // The tables of plugins have the same beginning.
  { name: '012-texts-by-bytes', up: (db, engine) => compareByBytes(db, engine, 'agent_') },
  {
    name: '013-deaths-of-owners',
    async up(db) {
      await db.schema
        .alterTable('agent_run')
        .addColumn('deaths', 'integer', (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
];
