import type { Engine } from '@palaver/store';
import { type RawBuilder, sql } from 'kysely';
import { sessionStatus, textingMs } from './session-row.ts';
import { dayOf } from './tables.ts';

/** Few rows for each day, so they are removed at once. */
const statTables = ['ussd_state_stat', 'ussd_call_stat'];

export interface SweepPeriods {
  timeoutMs: number;
  resumeMs: number;
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
  batchSize: number;
}

/** How long a number that has chosen nothing is known as one that has dialled before. */
const emptyProfileMs = 90 * 24 * 3_600_000;

/** Each runs until a batch is not full. Rows are found in the order of an index, so that batches cost the same in any table. */
export function toSweepStatements(limits: SweepLimits): RawBuilder<unknown>[] {
  const { engine, now, submissionsMs, smsMs, recordsMs, claimsMs, statsMs, batchSize } = limits;
  const old = now - limits.retentionMs;
  // Asked of each row as it is locked, because a call may have changed it since it was found. The statement around it names keys
  // alone: by the condition PostgreSQL may read every row that meets it once for each batch.
  const lock = sql.raw(engine === 'postgres' ? 'for update' : '');
  const batch = ({ table, key = 'id', where, by }: Sweep) => {
    const keys = sql`select ${sql.ref(key)} from ${sql.table(table)} where ${where} order by ${by} limit ${sql.lit(batchSize)} ${lock}`;
    // Of an array PostgreSQL expects a few keys and looks each up; of a subquery it may expect many and read the whole table.
    return engine === 'postgres' ? sql`${sql.ref(key)} = any(array(${keys}))` : sql`${sql.ref(key)} in (${keys})`;
  };
  const remove = (rows: Sweep) => sql`delete from ${sql.table(rows.table)} where ${batch(rows)}`;
  const periods: [ms: number | undefined, table: string, since: string, which: string][] = [
    [submissionsMs, 'ussd_submission', 'created_at', "status in ('stored', 'sent')"],
    [smsMs, 'ussd_sms', 'created_at', "status in ('sent', 'failed')"],
    [recordsMs, 'ussd_record', 'created_at', '1 = 1'],
    [claimsMs, 'ussd_claim', 'checked_at', "status in ('paid', 'rejected')"],
    [claimsMs, 'ussd_tx', 'created_at', "status = 'included'"],
  ];
  const outlived = periods.flatMap(([ms, table, since, which]) => {
    if (ms === undefined) return [];
    const by = sql.raw(since);
    return remove({ table, by, where: sql`${by} <= ${now - ms} and ${sql.raw(which)}` });
  });
  const sessions = (status: number, before: number): Sweep => ({
    table: 'ussd_session',
    where: sql`status = ${sql.lit(status)} and opened_at <= ${before} and seen_at <= ${before}`,
    by: sql`opened_at`,
  });
  const expire = (open: Sweep) =>
    sql`update ussd_session set status = ${sql.lit(sessionStatus.expired)} where ${batch(open)} returning id, opening, dialogue`;
  const forms: Sweep = {
    table: 'ussd_profile',
    key: 'phone',
    by: sql`resume_at`,
    where: sql`resume is not null and resume_at <= ${now - limits.resumeMs}`,
  };
  const empty: Sweep = {
    table: 'ussd_profile',
    key: 'phone',
    by: sql`coalesce(resume_at, 0)`,
    where: sql`language is null and resume is null and notice is null and stopped_at is null and coalesce(resume_at, 0) <= ${now - emptyProfileMs}`,
  };
  return [
    // Before its session: inputs without one are played again.
    remove({ table: 'ussd_input', key: 'session_id', where: sql`kept_until <= ${now}`, by: sql`kept_until` }),
    expire(sessions(sessionStatus.active, now - limits.timeoutMs)),
    expire(sessions(sessionStatus.texting, now - textingMs)),
    // An open session is never old: the statements above have marked it as expired.
    remove(sessions(sessionStatus.ended, old)),
    remove(sessions(sessionStatus.expired, old)),
    remove({ table: 'ussd_action_result', key: 'key', where: sql`created_at <= ${old}`, by: sql`created_at` }),
    remove({ table: 'ussd_question', where: sql`asked_at <= ${old}`, by: sql`asked_at` }),
    ...outlived,
    ...(statsMs === undefined
      ? []
      : statTables.map((table) => sql`delete from ${sql.table(table)} where day < ${dayOf(now - statsMs)}`)),
    remove({ table: 'ussd_link', where: sql`expires_at <= ${now}`, by: sql`expires_at` }),
    sql`update ussd_profile set resume = null where ${batch(forms)}`,
    remove(empty),
  ];
}

interface Sweep {
  table: string;
  key?: string;
  where: RawBuilder<unknown>;
  by: RawBuilder<unknown>;
}
