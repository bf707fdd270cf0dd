import { unreadableText } from '@palaver/store/internal';
import { sql } from 'kysely';
import { createBatchLoader } from './batch-loader.ts';
import { forgetNotices } from './notices.ts';
import { type ApplyWrites, type SessionWrite, sessionStatus, toForms, toShown } from './session-row.ts';
import { createSqliteWriter } from './sqlite-writer.ts';
import { countRows, type SessionTable, sealedTables, type UssdStore } from './tables.ts';
import type { TextHash } from './text-hash.ts';

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

export const maxListed = 1_000;

export function createSessionStore(
  store: UssdStore,
  { timeoutMs, textHash }: { timeoutMs: number; textHash: Pick<TextHash, 'ofErased'> },
) {
  const writer = store.createGroupWriter<SessionWrite, boolean>({
    isolation: 'read committed',
    ...(store.engine === 'postgres'
      ? { singleStatement: true, apply: createJoinedWriter(store) }
      : { apply: createSqliteWriter(store) }),
  });
  const load = createBatchLoader<SessionTable>(store, 'ussd_session', 'id');
  const active = (now: number) =>
    store.readDb
      .selectFrom('ussd_session')
      .where('status', '=', sessionStatus.active)
      .where('seen_at', '>', now - timeoutMs);

  return {
    /** Also one whose caller was erased; see `isErased`. */
    load: async (id: string) => {
      const row = (await load(id)) ?? (await load(textHash.ofErased(id)));
      return row && store.cipher.openRow(sealedTables.session, row);
    },
    /** Resolves once committed; `false` if the row has another version than the one read: another instance wrote it. */
    save: (write: SessionWrite) => writer.write(write),
    /** Marks an open session as expired and returns what the statistics need; none if it is not open. */
    expire: (id: string) =>
      store.db
        .updateTable('ussd_session')
        .set({ status: sessionStatus.expired })
        .where('id', '=', id)
        .where('status', 'in', [sessionStatus.active, sessionStatus.texting])
        .returning(['id', 'opening', 'dialogue'])
        .execute(),
    /** The oldest of them. */
    async listActive(now: number) {
      const rows = await active(now).select(['id', 'phone']).orderBy('opened_at').limit(maxListed).execute();
      return rows.map((row) => store.cipher.openRow(sealedTables.session, row, { phone: unreadableText }));
    },
    countActive: (now: number) => countRows(active(now)),
  };
}

export type SessionStore = ReturnType<typeof createSessionStore>;

/** Sessions and forms in one statement, without a transaction around it: a key press is one round trip to PostgreSQL. */
function createJoinedWriter(store: UssdStore): ApplyWrites {
  const write = store.prepare((db, { sessions, forms }: { sessions: string; forms: string }) => {
    // A session that was read and is gone since was removed, so it is not written again. Ids are an array as in
    // `createBatchLoader`; rows have one order everywhere, so that instances do not wait for each other in a circle.
    const statement = sql<{ id: string }>`with given as (
        select ${list} from json_to_recordset(${sessions}::json) as row(${types}) order by id
      ), opened as (
        insert into ussd_session (${list}) select ${list} from given where version = 1 on conflict (id) do nothing returning id
      ), changed as (
        update ussd_session as kept set ${changes} from given
        where kept.id = any(array(select id from given where version > 1)) and kept.id = given.id
        and kept.version = given.version - 1 returning kept.id
      ), written as (
        select id from opened union all select id from changed
      ), forms as (
        insert into ussd_profile (phone, resume, resume_at, first_session)
        select phone, resume, resume_at, first_session from json_to_recordset(${forms}::json)
        as row(id text, phone text, resume text, resume_at bigint, first_session text)
        where id in (select id from written) order by phone
        on conflict (phone) do update set resume = excluded.resume, resume_at = excluded.resume_at,
        first_session = coalesce(ussd_profile.first_session, excluded.first_session)
      ) select id from written`;
    return { compile: () => statement.compile(db) };
  });
  return async (db, writes) => {
    const sessions = JSON.stringify(writes.map(({ session }) => store.cipher.sealRow(sealedTables.session, session)));
    const { rows } = await write({ sessions, forms: JSON.stringify(toForms(store.cipher, writes)) }, db);
    const written = new Set(rows.map(({ id }) => id));
    // In a separate write: a notice that is shown twice does no harm.
    await forgetNotices(db, store.cipher, toShown(writes, written));
    return writes.map(({ session }) => written.has(session.id));
  };
}

const names = Object.keys(columns);
const list = sql.raw(names.join(', '));
const types = sql.raw(names.map((name) => `${name} ${columns[name as keyof SessionTable]}`).join(', '));
const changes = sql.raw(
  names
    .filter((name) => name !== 'id')
    .map((name) => `${name} = given.${name}`)
    .join(', '),
);
