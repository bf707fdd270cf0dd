import type { Store } from '@palaver/store';
import { sql, type Transaction } from 'kysely';
import { createBatchLoader } from '../store/batch-loader.ts';
import type { DailyTables } from '../store/daily-tables.ts';
import { sealedTables } from '../store/sealed-tables.ts';
import type { SessionTable, UssdTables } from '../store/tables.ts';
import { type Session, sessionStatus } from './session.ts';
import {
  type ApplyWrites,
  forgetNotices,
  fromRow,
  type SessionWrite,
  toForms,
  toRow,
  toShown,
} from './session-writes.ts';
import { createSqliteWriter } from './sqlite-writer.ts';

export interface SessionStore {
  load(id: string): Promise<Session | undefined>;
  /** Resolves once committed; `false` if the row has another version than the one read: another instance wrote it. */
  save(write: SessionWrite): Promise<boolean>;
  listActive(now: number): Promise<string[]>;
  /** The day of a session that opens now. */
  dayOf(now: number): number;
}

const columns: Record<keyof SessionTable, 'text' | 'bigint' | 'integer'> = {
  id: 'text',
  phone: 'text',
  service_code: 'text',
  version: 'integer',
  status: 'integer',
  text_hash: 'text',
  text_length: 'integer',
  opening: 'text',
  dialogue: 'text',
  reply: 'text',
  opened_at: 'bigint',
  seen_at: 'bigint',
};

export interface SessionStoreOptions {
  timeoutMs: number;
  daily?: DailyTables | undefined;
}

export function createSessionStore(store: Store<UssdTables>, { timeoutMs, daily }: SessionStoreOptions): SessionStore {
  const writer = store.createGroupWriter<SessionWrite, boolean>({
    isolation: 'read committed',
    ...(store.engine === 'postgres'
      ? { singleStatement: true, apply: createJoinedWriter(store, daily) }
      : { apply: createSqliteWriter(store) }),
  });
  const load = createBatchLoader<SessionTable & { day?: number }>(store, {
    table: 'ussd_session',
    key: 'id',
    daily: daily && { table: 'ussd_session_day', columns: Object.keys(columns) },
  });
  const listActive = (table: 'ussd_session' | 'ussd_session_day', now: number) =>
    store.db
      .selectFrom(table)
      .where('status', '=', sessionStatus.active)
      .where('seen_at', '>', now - timeoutMs)
      .select('id')
      .orderBy('opened_at')
      .execute();

  return {
    load: async (id) => {
      const row = await load(id);
      return row && fromRow(store.cipher.openRow(sealedTables.session, row));
    },
    save: (write) => writer.write(write),
    async listActive(now) {
      const rows = await listActive('ussd_session', now);
      if (daily) rows.push(...(await listActive('ussd_session_day', now)));
      return rows.map(({ id }) => id);
    },
    dayOf: (now) => daily?.dayOf(now) ?? 0,
  };
}

/** Sessions and forms in one statement, without a transaction around it: a key press is one round trip to PostgreSQL. */
function createJoinedWriter(store: Store<UssdTables>, daily: DailyTables | undefined): ApplyWrites {
  const write = store.prepare((db, { sessions, forms }: { sessions: string; forms: string }) => {
    const statement = sql<{ id: string }>`with ${daily ? toDailyWrites(sessions) : toWrites(sessions)}, forms as (
        insert into ussd_profile (phone, resume, resume_at)
        select phone, resume, resume_at from json_to_recordset(${forms}::json) as row(id text, phone text, resume text, resume_at bigint)
        where id in (select id from written)
        on conflict (phone) do update set resume = excluded.resume, resume_at = excluded.resume_at
      ) select id from written`;
    return { compile: () => statement.compile(db) };
  });
  return async (db, writes) => {
    const sessions = JSON.stringify(
      writes.map(({ session }) => ({
        ...store.cipher.sealRow(sealedTables.session, toRow(session)),
        day: session.day,
      })),
    );
    const values = { sessions, forms: JSON.stringify(toForms(store.cipher, writes)) };
    const isOpening = writes.some(({ session }) => session.version === 1 && daily?.isNearMidnight(session.seenAt));
    const { rows } = await (isOpening
      ? store.transaction(writeAlone, { isolation: 'read committed' })
      : write(values, db));
    async function writeAlone(trx: Transaction<UssdTables>) {
      await daily?.lockNearMidnight(trx);
      return write(values, trx);
    }
    const written = new Set(rows.map(({ id }) => id));
    // In a separate write: a notice that is shown twice does no harm.
    await forgetNotices(db, toShown(store.cipher, writes, written));
    return writes.map(({ session }) => written.has(session.id));
  };
}

const mayUpdate = 'ussd_session.version = excluded.version - 1';
const names = Object.keys(columns);
const list = sql.raw(names.join(', '));
const types = sql.raw(names.map((name) => `${name} ${columns[name as keyof SessionTable]}`).join(', '));
const changes = sql.raw(
  names
    .filter((name) => name !== 'id')
    .map((name) => `${name} = excluded.${name}`)
    .join(', '),
);

function toWrites(sessions: string) {
  return sql`written as (
    insert into ussd_session (${list}) select ${list} from json_to_recordset(${sessions}::json) as row(${types})
    on conflict (id) do update set ${changes} where ${sql.raw(mayUpdate)} returning id
  )`;
}

/**
 * Into the partition of each row. No index spans partitions, so a new row is looked for in the others first; a subquery with
 * a limit is never turned into a scan of the whole table.
 */
function toDailyWrites(sessions: string) {
  const mayUpdateDaily = sql.raw('ussd_session_day.version = excluded.version - 1');
  const isNowhere = (table: string, other = sql``) =>
    sql`(select 1 from ${sql.table(table)} as known where known.id = row.id ${other} limit 1) is null`;
  return sql`row as (
    select * from json_to_recordset(${sessions}::json) as row(day integer, ${types})
  ), before as (
    insert into ussd_session (${list}) select ${list} from row
    where day = 0 and (version > 1 or ${isNowhere('ussd_session_day')})
    on conflict (id) do update set ${changes} where ${sql.raw(mayUpdate)} returning id
  ), by_day as (
    insert into ussd_session_day (day, ${list}) select day, ${list} from row where day > 0 and (version > 1
      or (${isNowhere('ussd_session')} and ${isNowhere('ussd_session_day', sql`and known.day <> row.day`)}))
    on conflict (id, day) do update set ${changes} where ${mayUpdateDaily} returning id
  ), written as (select id from before union all select id from by_day)`;
}
