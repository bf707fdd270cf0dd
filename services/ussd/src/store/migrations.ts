import { createOutboxTables } from '@palaver/protocol';
import type { Migration, SealedTable, Store } from '@palaver/store';
import { auditMigrations, type CipherStore, convertOnce, encryptTokens, openCipher } from '@palaver/store/internal';
import { sql } from 'kysely';
import { sealedTables } from './tables.ts';

const firstSchema = [
  sql`create table ussd_session (
    id text primary key, phone text not null, service_code text not null, version integer not null,
    status integer not null, text_hash text not null, text_length integer not null, opening text not null,
    dialogue text not null, reply text not null, opened_at bigint not null, seen_at bigint not null)`,
  // Only columns that a request does not change: PostgreSQL then updates a row in place, without touching the index.
  sql`create index ussd_session_status on ussd_session (status, opened_at)`,
  sql`create index ussd_session_phone on ussd_session (phone)`,
  sql`create table ussd_input (
    session_id text primary key, phone text not null, version integer not null, sealed text not null,
    kept_until bigint not null)`,
  sql`create index ussd_input_kept on ussd_input (kept_until)`,
  sql`create index ussd_input_phone on ussd_input (phone)`,
  sql`create table ussd_action_result (
    key text primary key, phone text not null, result text not null, created_at bigint not null)`,
  sql`create index ussd_action_result_created on ussd_action_result (created_at)`,
  sql`create index ussd_action_result_phone on ussd_action_result (phone)`,

  sql`create table ussd_profile (phone text primary key, language text, resume text, resume_at bigint, notice text,
    first_session text,
    stopped_at bigint, pushed_at bigint)`,
  sql`create index ussd_profile_resume on ussd_profile (resume_at) where resume is not null`,
  sql`create index ussd_profile_empty on ussd_profile (coalesce(resume_at, 0))
    where language is null and resume is null and notice is null and stopped_at is null`,
  sql`create table ussd_account (
    id text primary key, phone text not null unique, name text not null, pin text not null, address text, did text,
    failed integer not null, failed_total integer not null default 0, locks integer not null, locked_until bigint,
    link_tries integer not null default 0, link_tried_at bigint not null default 0, created_at bigint not null)`,
  sql`create table ussd_address_change (
    id text primary key, account_id text not null unique references ussd_account (id) on delete cascade, address text,
    proposed_by text not null, expires_at bigint not null)`,
  sql`create table ussd_link (
    id text primary key, owner text not null unique, did text not null, address text not null,
    expires_at bigint not null)`,
  sql`create index ussd_link_expires on ussd_link (expires_at)`,
  sql`create table ussd_secret (name text primary key, sealed text not null)`,

  sql`create table ussd_question (
    id text primary key, phone text not null, question text not null, status text not null, answer text,
    asked_at bigint not null, shown integer not null)`,
  sql`create index ussd_question_phone on ussd_question (phone, asked_at)`,
  sql`create index ussd_question_asked on ussd_question (asked_at)`,
  sql`create table ussd_chat (phone text primary key, agent_session text not null)`,

  sql`create table ussd_program (
    name text primary key, published text, revision integer not null, draft text, draft_at bigint, draft_by text)`,
  sql`create table ussd_program_version (
    id text primary key, program text not null, source text not null, used_at bigint not null, published_at bigint,
    published_by text, note text, replaced text)`,
  sql`create table ussd_record (
    id text primary key, program text not null, kind text not null, phone text not null, fields text not null,
    created_at bigint not null, mark bigint not null default 0)`,
  // With the mark, so that the state of many records is read without the records.
  sql`create index ussd_record_kind on ussd_record (program, kind, created_at, mark)`,
  sql`create index ussd_record_phone on ussd_record (phone, program, kind, created_at, mark)`,
  sql`create index ussd_record_created on ussd_record (created_at)`,
  sql`create table ussd_submission (
    id text primary key, program text not null, form_id text not null, form_version text not null, phone text not null,
    xml text not null, answers text not null, created_at bigint not null, status text not null, attempts integer not null,
    next_at bigint, fault text, claimed_by text, lease_until bigint not null default 0)`,
  // With the status, so that results are counted without their texts.
  sql`create index ussd_submission_form on ussd_submission (program, form_id, created_at, status)`,
  sql`create index ussd_submission_phone on ussd_submission (phone)`,
  sql`create index ussd_submission_due on ussd_submission (status, next_at)`,
  sql`create index ussd_submission_created on ussd_submission (created_at)`,
  sql`create table ussd_sms (
    id text primary key, program text not null, phone text not null, caller text not null, body text not null,
    created_at bigint not null, status text not null, attempts integer not null, next_at bigint, fault text,
    dialogue text, reference text, receipt text, claimed_by text, lease_until bigint not null default 0)`,
  sql`create index ussd_sms_reference on ussd_sms (reference) where reference is not null`,
  sql`create index ussd_sms_due on ussd_sms (status, next_at)`,
  sql`create index ussd_sms_program on ussd_sms (program, created_at, status)`,
  sql`create index ussd_sms_phone on ussd_sms (phone, created_at)`,
  sql`create index ussd_sms_caller on ussd_sms (caller, created_at)`,
  sql`create index ussd_sms_created on ussd_sms (created_at)`,
  sql`create table ussd_state_stat (
    day integer not null, program text not null, version text not null, state text not null, language text not null,
    shown integer not null, answered integer not null, refused integer not null, back integer not null,
    exited integer not null, timed_out integer not null, s2 integer not null, s4 integer not null, s7 integer not null,
    s10 integer not null, s15 integer not null, s20 integer not null, s30 integer not null, s60 integer not null,
    s120 integer not null, longer integer not null, primary key (day, program, version, state, language))`,
  sql`create table ussd_call_stat (
    day integer not null, program text not null, version text not null, calls integer not null,
    returning_calls integer not null, text_calls integer not null, primary key (day, program, version))`,

  sql`create table ussd_claim (
    id text primary key, source text not null unique, phone text not null, collection text not null, content text not null,
    status text not null, reward text, fault text, checked_at bigint not null, created_at bigint not null)`,
  sql`create index ussd_claim_status on ussd_claim (status, checked_at)`,
  sql`create index ussd_claim_phone on ussd_claim (phone)`,
  // Amounts are texts: they may be larger than a bigint.
  sql`create table ussd_money_account (
    id text primary key, balance text not null check (balance not like '-%'))`,
  sql`create table ussd_money_entry (
    transaction_id text not null, account_id text not null, amount text not null, created_at bigint not null,
    primary key (transaction_id, account_id))`,
  sql`create table ussd_payout (
    id text primary key, account_id text not null, address text not null, denom text not null, amount bigint not null,
    status text not null, created_at bigint not null)`,
  sql`create index ussd_payout_account on ussd_payout (account_id, created_at)`,
  sql`create index ussd_payout_sending on ussd_payout (id) where status = 'sending'`,
];

export const ussdMigrations: readonly Migration[] = [
  {
    name: '0001',
    async up(trx) {
      for (const statement of firstSchema) await statement.execute(trx);
      await createOutboxTables(trx, 'ussd');
    },
  },
  {
    name: '0002',
    async up(trx) {
      await sql`alter table ussd_program add column draft_title text`.execute(trx);
    },
  },
];

/** The first time with a key, phone numbers are encrypted before this resolves: a number that is not found could register again. */
export async function migrateUssd(
  store: CipherStore & Pick<Store<unknown>, 'migrate'>,
  onTable?: Parameters<typeof encryptTokens>[2],
): Promise<void> {
  await store.migrate('audit', auditMigrations);
  await openCipher(store);
  await store.migrate('ussd', ussdMigrations);
  await convertOnce(store, 'ussd', () => encryptTokens(store, Object.values<SealedTable>(sealedTables), onTable));
}
