import { ussdLimits } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { sql } from 'kysely';
import type { UssdTables } from '../store/tables.ts';
import { sessionStatus } from './session.ts';
import type { SessionCache } from './session-cache.ts';

export interface SweepParts {
  store: Pick<Store<UssdTables>, 'db'>;
  cache: SessionCache;
  timeoutMs: number;
  resumeMs: number;
}

const retentionMs = ussdLimits.retentionHours * 3_600_000;
/** Rows removed by one statement: a sweep must not hold the database up. */
const maxRows = 2_000;

/** Marks expired sessions and removes what has been kept long enough. Every look-up is exact without it. */
export async function sweep({ store, cache, timeoutMs, resumeMs }: SweepParts, now: number): Promise<void> {
  cache.sweep(now - timeoutMs);
  const { db } = store;
  await db
    .updateTable('ussd_session')
    .set({ status: sessionStatus.expired })
    .where('status', '=', sessionStatus.active)
    .where('seen_at', '<=', now - timeoutMs)
    // Follows from the line above, and lets the index leave out everyone who has just dialled.
    .where('opened_at', '<=', now - timeoutMs)
    .execute();
  const old = now - retentionMs;
  for (const statement of [
    // An active session is never old: the statement above has marked it as expired.
    ...[sessionStatus.ended, sessionStatus.expired].map(
      (status) =>
        sql`delete from ussd_session where id in (select id from ussd_session where status = ${status} and opened_at <= ${old} and seen_at <= ${old} limit ${maxRows})`,
    ),
    sql`delete from ussd_effect where key in (select key from ussd_effect where created_at <= ${old} limit ${maxRows})`,
    sql`delete from ussd_question where id in (select id from ussd_question where asked_at <= ${old} limit ${maxRows})`,
    sql`delete from ussd_input where session_id in (select session_id from ussd_input where seen_at <= ${now - timeoutMs} limit ${maxRows})`,
    sql`update ussd_profile set resume = null, resume_at = null where phone in (select phone from ussd_profile where resume is not null and resume_at <= ${now - resumeMs} limit ${maxRows})`,
  ]) {
    await statement.execute(db);
  }
}

/** Sweeps again and again until stopped; a sweep that fails (the database is away) is tried at the next turn. */
export function startSweeper(parts: SweepParts & { logger: Logger; intervalMs: number }): { stop(): Promise<void> } {
  let running: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    running = sweep(parts, Date.now()).catch((error) => parts.logger.warn({ err: error }, 'sweeping sessions failed'));
  }, parts.intervalMs);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      return running;
    },
  };
}
