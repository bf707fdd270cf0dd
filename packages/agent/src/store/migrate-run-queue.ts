import type { Migration } from '@palaver/store';
import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely';

/**
 * The queue of a session, the owner of a run and its frames move into the database. Only adds: the previous version, which
 * has none of these columns, still writes its runs and messages, and a trigger numbers them.
 */
export const addRunQueue: Migration['up'] = async (db, engine) => {
  await db.schema
    .alterTable('agent_session')
    .addColumn('run_count', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await addColumns(db);
  await numberExisting(db);
  await (engine === 'postgres' ? addPostgresTriggers(db) : addSqliteTriggers(db));
  await addIndexes(db);
  await addTables(db);
};

async function addColumns(db: Kysely<unknown>): Promise<void> {
  const add = (table: string, column: string, type: 'bigint' | 'integer' | 'text') =>
    db.schema.alterTable(table).addColumn(column, type).execute();
  await add('agent_message', 'number', 'bigint');
  await add('agent_run', 'number', 'bigint');
  await add('agent_run', 'active', 'integer');
  await add('agent_run', 'started_at', 'bigint');
  await add('agent_run', 'input', 'text');
  for (const flag of ['epoch', 'aborting', 'swept']) {
    await db.schema
      .alterTable('agent_run')
      .addColumn(flag, 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  }
}

async function numberExisting(db: Kysely<unknown>): Promise<void> {
  await sql`update agent_run set number = ranked.number from (
    select id, row_number() over (partition by session_id order by id) as number from agent_run
  ) as ranked where ranked.id = agent_run.id`.execute(db);
  await sql`update agent_message set number = 2 * agent_run.number + case agent_message.type when 'ai' then 1 else 0 end
    from agent_run where agent_run.id = agent_message.run_id`.execute(db);
  await sql`update agent_session set run_count = (
    select count(*) from agent_run where agent_run.session_id = agent_session.id
  )`.execute(db);
}

async function addPostgresTriggers(db: Kysely<unknown>): Promise<void> {
  await sql`create function agent_number_run() returns trigger language plpgsql as $$ begin
    if new.number is null then
      update agent_session set run_count = run_count + 1 where id = new.session_id returning run_count into new.number;
    end if;
    return new;
  end $$`.execute(db);
  await sql`create trigger agent_number_run before insert on agent_run
    for each row execute function agent_number_run()`.execute(db);
  await sql`create function agent_number_message() returns trigger language plpgsql as $$ begin
    if new.number is null then
      select 2 * number + case new.type when 'ai' then 1 else 0 end into new.number from agent_run where id = new.run_id;
    end if;
    return new;
  end $$`.execute(db);
  await sql`create trigger agent_number_message before insert on agent_message
    for each row execute function agent_number_message()`.execute(db);
}

async function addSqliteTriggers(db: Kysely<unknown>): Promise<void> {
  await sql`create trigger agent_number_run after insert on agent_run when new.number is null begin
    update agent_session set run_count = run_count + 1 where id = new.session_id;
    update agent_run set number = (select run_count from agent_session where id = new.session_id) where id = new.id;
  end`.execute(db);
  await sql`create trigger agent_number_message after insert on agent_message when new.number is null begin
    update agent_message set number = (
      select 2 * number + case new.type when 'ai' then 1 else 0 end from agent_run where id = new.run_id
    ) where id = new.id;
  end`.execute(db);
}

async function addIndexes(db: Kysely<unknown>): Promise<void> {
  await sql`create index agent_message_by_number on agent_message (session_id, number)`.execute(db);
  await sql`create index agent_run_queue on agent_run (session_id, number) where ended_at is null`.execute(db);
  await sql`create index agent_run_live on agent_run (instance) where ended_at is null`.execute(db);
  await sql`create index agent_run_by_end on agent_run (ended_at) where ended_at is not null`.execute(db);
  // The database itself keeps a second run of a session from starting.
  await sql`create unique index agent_run_active on agent_run (session_id) where active = 1`.execute(db);
}

async function addTables(db: Kysely<unknown>): Promise<void> {
  const run = (column: ColumnDefinitionBuilder) => column.notNull().references('agent_run.id').onDelete('cascade');
  await db.schema
    .createTable('agent_instance')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('agent_lease')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('holder', 'text', (column) => column.notNull())
    .addColumn('until', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('agent_frame')
    .addColumn('run_id', 'text', run)
    .addColumn('first', 'bigint', (column) => column.notNull())
    .addColumn('last', 'bigint', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('agent_frame_pk', ['run_id', 'first'])
    .execute();
  await db.schema
    .createTable('agent_step')
    .addColumn('run_id', 'text', run)
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('said', 'integer', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('outcomes', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('agent_step_pk', ['run_id', 'number'])
    .execute();
  await db.schema
    .createTable('agent_send')
    .addColumn('user_did', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text', run)
    .addColumn('body_hash', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('agent_send_pk', ['user_did', 'key'])
    .execute();
  for (const table of ['agent_frame', 'agent_step', 'agent_send'])
    await db.schema.createIndex(`${table}_by_time`).on(table).column('created_at').execute();
  for (const table of ['agent_step', 'agent_send'])
    await db.schema.createIndex(`${table}_by_run`).on(table).column('run_id').execute();
}
