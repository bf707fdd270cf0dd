import { outboxMigration, outboxResendMigration, outboxSignerMigration } from '@palaver/protocol';
import { compareByBytes, createIndex, type Migration, type SealedTable, type Store } from '@palaver/store';
import { auditMigrations, type CipherStore, convertOnce, encryptTokens, openCipher } from '@palaver/store/internal';
import { sql } from 'kysely';
import { sealedTables } from './sealed-tables.ts';

const migrations: readonly Migration[] = [
  {
    name: '001-first',
    async up(trx) {
      const statements = [
        sql`create table ussd_session (
          id text primary key, phone text not null, service_code text not null, version integer not null,
          status integer not null, text_hash text not null, text_length integer not null, opening text not null,
          dialogue text not null, reply text not null, opened_at bigint not null, seen_at bigint not null)`,
        // Only columns that a request does not change: PostgreSQL then updates a row in place, without touching the index.
        sql`create index ussd_session_status on ussd_session (status, opened_at)`,
        sql`create table ussd_effect (key text primary key, result text not null, created_at bigint not null)`,
        sql`create index ussd_effect_created on ussd_effect (created_at)`,
        sql`create table ussd_profile (
          phone text primary key, language text, resume text, resume_at bigint)`,
        sql`create table ussd_account (
          id text primary key, phone text not null unique, name text not null, pin text not null, address text,
          failed integer not null, locks integer not null, locked_until bigint, created_at bigint not null)`,
        sql`create table ussd_report (
          reference text primary key, account_id text not null references ussd_account (id), phone text not null,
          activity text not null, amount text not null, created_at bigint not null)`,
        sql`create index ussd_report_phone on ussd_report (phone, created_at)`,
        sql`create index ussd_report_created on ussd_report (created_at)`,
        sql`create table ussd_question (
          id text primary key, phone text not null, question text not null, status text not null, answer text,
          asked_at bigint not null, shown integer not null)`,
        sql`create index ussd_question_phone on ussd_question (phone, asked_at)`,
        sql`create table ussd_chat (phone text primary key, agent_session text not null)`,
        sql`create table ussd_secret (name text primary key, sealed text not null)`,
        sql`create table ussd_input (
          session_id text primary key, version integer not null, sealed text not null, seen_at bigint not null)`,
      ];
      for (const statement of statements) await statement.execute(trx);
    },
  },
  {
    name: '002-address-change',
    async up(trx) {
      await sql`create table ussd_address_change (
        id text primary key, account_id text not null unique references ussd_account (id) on delete cascade, address text,
        proposed_by text not null, expires_at bigint not null)`.execute(trx);
    },
  },
  {
    name: '005-whose-effect',
    async up(trx) {
      await sql`alter table ussd_effect add column phone text`.execute(trx);
    },
  },
  {
    name: '006-effects-and-sessions-by-phone',
    concurrent: true,
    async up(db, engine) {
      await createIndex(db, engine, { name: 'ussd_effect_phone', on: 'ussd_effect (phone)' });
      await createIndex(db, engine, { name: 'ussd_session_phone', on: 'ussd_session (phone)' });
    },
  },
  {
    name: '007-failures-in-all-and-notices',
    async up(trx) {
      await sql`alter table ussd_account add column failed_total integer not null default 0`.execute(trx);
      await sql`alter table ussd_profile add column notice text`.execute(trx);
    },
  },
  {
    name: '008-indexes-for-the-sweep',
    concurrent: true,
    async up(db, engine) {
      await createIndex(db, engine, {
        name: 'ussd_profile_resume',
        on: 'ussd_profile (resume_at) where resume is not null',
      });
      await createIndex(db, engine, { name: 'ussd_question_asked', on: 'ussd_question (asked_at)' });
      await createIndex(db, engine, { name: 'ussd_input_seen', on: 'ussd_input (seen_at)' });
    },
  },
  {
    name: '009-program-versions',
    async up(trx) {
      await sql`create table ussd_program_version (
        id text primary key, program text not null, source text not null, used_at bigint not null)`.execute(trx);
    },
  },
  {
    name: '010-records-of-programs',
    async up(trx) {
      await sql`create table ussd_record (
        id text primary key, program text not null, kind text not null, phone text not null, fields text not null,
        created_at bigint not null)`.execute(trx);
      await sql`create index ussd_record_kind on ussd_record (program, kind, created_at)`.execute(trx);
      await sql`create index ussd_record_phone on ussd_record (phone)`.execute(trx);
    },
  },
  {
    name: '011-submissions-of-forms',
    async up(trx) {
      await sql`create table ussd_submission (
        id text primary key, program text not null, form_id text not null, form_version text not null, phone text not null,
        xml text not null, answers text not null, created_at bigint not null, status text not null, attempts integer not null, next_at bigint,
        fault text)`.execute(trx);
      await sql`create index ussd_submission_form on ussd_submission (form_id, created_at)`.execute(trx);
      await sql`create index ussd_submission_phone on ussd_submission (phone)`.execute(trx);
      await sql`create index ussd_submission_due on ussd_submission (status, next_at)`.execute(trx);
    },
  },
  {
    name: '012-submissions-by-time',
    concurrent: true,
    async up(db, engine) {
      await createIndex(db, engine, { name: 'ussd_submission_created', on: 'ussd_submission (created_at)' });
    },
  },
  {
    name: '013-sms',
    async up(trx) {
      await sql`create table ussd_sms (
        id text primary key, program text not null, phone text not null, caller text not null, body text not null,
        created_at bigint not null, status text not null, attempts integer not null, next_at bigint, fault text)`.execute(
        trx,
      );
      await sql`create index ussd_sms_due on ussd_sms (status, next_at)`.execute(trx);
      await sql`create index ussd_sms_phone on ussd_sms (phone, created_at)`.execute(trx);
      await sql`create index ussd_sms_caller on ussd_sms (caller, created_at)`.execute(trx);
      await sql`create index ussd_sms_created on ussd_sms (created_at)`.execute(trx);
    },
  },
  {
    name: '014-records-by-time',
    concurrent: true,
    async up(db, engine) {
      await createIndex(db, engine, { name: 'ussd_record_created', on: 'ussd_record (created_at)' });
    },
  },
  {
    name: '015-details-of-reports',
    async up(trx) {
      for (const column of ['unit', 'place', 'date', 'note'])
        await sql`alter table ussd_report add column ${sql.ref(column)} text`.execute(trx);
    },
  },
  {
    name: '016-published-programs',
    async up(trx) {
      for (const column of ['published_at bigint', 'published_by text', 'note text'])
        await sql`alter table ussd_program_version add column ${sql.raw(column)}`.execute(trx);
      await sql`create table ussd_program (
        name text primary key, published text, revision integer not null, draft text, draft_at bigint, draft_by text)`.execute(
        trx,
      );
    },
  },
  outboxMigration('ussd', '017-tx'),
  {
    name: '018-claims',
    async up(trx) {
      await sql`create table ussd_claim (
        id text primary key, source text not null unique, phone text not null, collection text not null,
        content text not null, status text not null, reward text, fault text, checked_at bigint not null,
        created_at bigint not null)`.execute(trx);
      await sql`create index ussd_claim_status on ussd_claim (status, checked_at)`.execute(trx);
      await sql`create index ussd_claim_phone on ussd_claim (phone)`.execute(trx);
    },
  },
  {
    name: '019-empty-profiles-by-time',
    concurrent: true,
    async up(db, engine) {
      await createIndex(db, engine, {
        name: 'ussd_profile_empty',
        on: 'ussd_profile (coalesce(resume_at, 0)) where language is null and resume is null and notice is null',
      });
    },
  },
  {
    name: '020-replaced-versions',
    async up(trx) {
      await sql`alter table ussd_program_version add column replaced text`.execute(trx);
    },
  },
  {
    name: '021-counts-of-programs',
    async up(trx) {
      await sql`create table ussd_state_stat (
        day integer not null, program text not null, version text not null, state text not null, language text not null,
        shown integer not null, answered integer not null, refused integer not null, back integer not null,
        exited integer not null, timed_out integer not null, s2 integer not null, s4 integer not null, s7 integer not null,
        s10 integer not null, s15 integer not null, s20 integer not null, s30 integer not null, s60 integer not null,
        s120 integer not null, longer integer not null, primary key (day, program, version, state, language))`.execute(
        trx,
      );
      await sql`create table ussd_call_stat (
        day integer not null, program text not null, version text not null, calls integer not null,
        returning_calls integer not null, primary key (day, program, version))`.execute(trx);
    },
  },
  {
    name: '022-links',
    async up(trx) {
      await sql`alter table ussd_account add column did text`.execute(trx);
      await sql`alter table ussd_account add column link_tries integer not null default 0`.execute(trx);
      await sql`alter table ussd_account add column link_tried_at bigint not null default 0`.execute(trx);
      await sql`create table ussd_link (
        id text primary key, owner text not null unique, did text not null, address text not null,
        expires_at bigint not null)`.execute(trx);
      await sql`create index ussd_link_expires on ussd_link (expires_at)`.execute(trx);
    },
  },
  {
    name: '023-payouts',
    async up(trx) {
      await sql`create table ussd_money_account (
        id text primary key, balance bigint not null check (balance >= 0 or id like 'system:%'))`.execute(trx);
      await sql`create table ussd_money_entry (
        transaction_id text not null, account_id text not null, amount bigint not null, created_at bigint not null,
        primary key (transaction_id, account_id))`.execute(trx);
      await sql`create table ussd_payout (
        id text primary key, account_id text not null, address text not null, denom text not null,
        amount bigint not null, status text not null, created_at bigint not null)`.execute(trx);
      await sql`create index ussd_payout_account on ussd_payout (account_id, created_at)`.execute(trx);
    },
  },
  {
    name: '024-payouts-on-their-way',
    concurrent: true,
    async up(db, engine) {
      await createIndex(db, engine, { name: 'ussd_payout_sending', on: `ussd_payout (id) where status = 'sending'` });
    },
  },
  outboxResendMigration('ussd', '025-tx-resend'),
  {
    name: '026-money-of-any-size',
    async up(trx) {
      const change = async (table: string, columns: string, values: string) => {
        await sql.raw(`create table ${table}_new (${columns})`).execute(trx);
        await sql.raw(`insert into ${table}_new select ${values} from ${table}`).execute(trx);
        await sql.raw(`drop table ${table}`).execute(trx);
        await sql.raw(`alter table ${table}_new rename to ${table}`).execute(trx);
      };
      await change(
        'ussd_money_account',
        `id text primary key, balance text not null check (balance not like '-%' or id like 'system:%')`,
        'id, cast(balance as text)',
      );
      await change(
        'ussd_money_entry',
        `transaction_id text not null, account_id text not null, amount text not null, created_at bigint not null,
         primary key (transaction_id, account_id)`,
        'transaction_id, account_id, cast(amount as text), created_at',
      );
    },
  },
  { name: '027-texts-by-bytes', up: (trx, engine) => compareByBytes(trx, engine, 'ussd_') },
  outboxSignerMigration('ussd', '028-tx-signer'),
];

/** Brings the tables of the service up to date, those of its audit log included, and opens its cipher. */
export async function migrateUssd(store: CipherStore & Pick<Store<unknown>, 'migrate'>): Promise<void> {
  await store.migrate('audit', auditMigrations);
  await openCipher(store);
  await store.migrate('ussd', migrations);
  await convertOnce(store, 'ussd', () => encryptTokens(store, Object.values<SealedTable>(sealedTables)));
}
