import type { Engine } from '@palaver/store';
import { type RawBuilder, sql } from 'kysely';
import { dayOf } from '../stats/program-stats.ts';
import { sessionStatus } from './session.ts';

/** Few rows for each day, so they are removed at once. */
const statTables = ['ussd_state_stat', 'ussd_call_stat'];

/** How long rows are kept. */
export interface SweepPeriods {
  timeoutMs: number;
  resumeMs: number;
  /** How long what is over is kept. */
  retentionMs: number;
  /** How long submissions are kept that no server still waits for; absent: until erased. */
  submissionsMs?: number | undefined;
  /** How long SMS messages that are sent or have failed, and records, are kept; absent: until erased. */
  smsMs?: number | undefined;
  recordsMs?: number | undefined;
  /** How long claims that are decided and transactions that are included are kept; absent: until erased. */
  claimsMs?: number | undefined;
  /** How long counts of programs are kept; absent: for ever. */
  statsMs?: number | undefined;
}

export interface SweepLimits extends SweepPeriods {
  engine: Engine;
  now: number;
  /** Rows that one statement changes at most. */
  batchSize: number;
  /** Sessions are kept by the day as well. */
  isDaily?: boolean;
}

/** How long a number that has chosen nothing is known as one that has dialled before. */
const emptyProfileMs = 90 * 24 * 3_600_000;

/**
 * What a sweep does, in order; each is run until it changes fewer rows than a full batch. Every row is found by an index, in the
 * order of that index, so that a batch costs the same however large the table is.
 */
export function toSweepStatements(limits: SweepLimits): RawBuilder<unknown>[] {
  const { engine, now, submissionsMs, smsMs, recordsMs, claimsMs, statsMs, batchSize, isDaily = false } = limits;
  const old = now - limits.retentionMs;
  const idle = now - limits.timeoutMs;
  const limit = sql`limit ${sql.lit(batchSize)}`;
  // Of an array PostgreSQL expects a few keys and looks each up; of a subquery it may expect many and read the whole table.
  const among = (keys: RawBuilder<unknown>) => (engine === 'postgres' ? sql`= any(array(${keys}))` : sql`in (${keys})`);
  const expired = (table: string) =>
    sql`select id from ${sql.table(table)} where status = ${sql.lit(sessionStatus.active)} and opened_at <= ${idle} and seen_at <= ${idle} order by opened_at ${limit}`;
  const expire = (table: string) =>
    sql`update ${sql.table(table)} set status = ${sql.lit(sessionStatus.expired)} where id ${among(expired(table))} returning id, opening, dialogue`;
  const over = (status: number) =>
    sql`select id from ussd_session where status = ${sql.lit(status)} and opened_at <= ${old} and seen_at <= ${old} order by opened_at ${limit}`;
  const effects = sql`select key from ussd_effect where created_at <= ${old} order by created_at ${limit}`;
  const questions = sql`select id from ussd_question where asked_at <= ${old} order by asked_at ${limit}`;
  const inputs = sql`select session_id from ussd_input where seen_at <= ${idle} order by seen_at ${limit}`;
  const claims = (before: number) =>
    sql`select id from ussd_claim where status in ('paid', 'rejected') and checked_at <= ${before} order by checked_at ${limit}`;
  const transactions = (before: number) =>
    sql`select id from ussd_tx where status = 'included' and created_at <= ${before} order by created_at ${limit}`;
  const links = sql`select id from ussd_link where expires_at <= ${now} order by expires_at ${limit}`;
  const forms = sql`select phone from ussd_profile where resume is not null and resume_at <= ${now - limits.resumeMs} order by resume_at ${limit}`;
  const isEmpty = sql`language is null and resume is null and notice is null`;
  const empty = sql`select phone from ussd_profile where ${isEmpty} and coalesce(resume_at, 0) <= ${now - emptyProfileMs} order by coalesce(resume_at, 0) ${limit}`;
  const submissions = (before: number) =>
    sql`select id from ussd_submission where created_at <= ${before} and status in ('stored', 'sent') order by created_at ${limit}`;
  const messages = (before: number) =>
    sql`select id from ussd_sms where created_at <= ${before} and status in ('sent', 'failed') order by created_at ${limit}`;
  const records = (before: number) =>
    sql`select id from ussd_record where created_at <= ${before} order by created_at ${limit}`;
  return [
    expire('ussd_session'),
    // Removed with its partition.
    ...(isDaily ? [expire('ussd_session_day')] : []),
    // An active session is never old: the statement above has marked it as expired.
    sql`delete from ussd_session where id ${among(over(sessionStatus.ended))}`,
    sql`delete from ussd_session where id ${among(over(sessionStatus.expired))}`,
    sql`delete from ussd_effect where key ${among(effects)}`,
    sql`delete from ussd_question where id ${among(questions)}`,
    ...(submissionsMs === undefined
      ? []
      : [sql`delete from ussd_submission where id ${among(submissions(now - submissionsMs))}`]),
    ...(smsMs === undefined ? [] : [sql`delete from ussd_sms where id ${among(messages(now - smsMs))}`]),
    ...(recordsMs === undefined ? [] : [sql`delete from ussd_record where id ${among(records(now - recordsMs))}`]),
    ...(statsMs === undefined
      ? []
      : statTables.map((table) => sql`delete from ${sql.table(table)} where day < ${dayOf(now - statsMs)}`)),
    ...(claimsMs === undefined
      ? []
      : [
          sql`delete from ussd_claim where id ${among(claims(now - claimsMs))}`,
          sql`delete from ussd_tx where id ${among(transactions(now - claimsMs))}`,
        ]),
    sql`delete from ussd_link where id ${among(links)}`,
    sql`delete from ussd_input where session_id ${among(inputs)}`,
    sql`update ussd_profile set resume = null where phone ${among(forms)}`,
    // The number may be in a call just now: asked again of the row as it is when it is removed.
    sql`delete from ussd_profile where phone ${among(empty)} and ${isEmpty}`,
  ];
}
