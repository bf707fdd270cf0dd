import type { Store } from '@palaver/store';
import { createBatchLoader } from '../store/batch-loader.ts';
import { type ColumnType, createRowWriter, type Row } from '../store/row-writer.ts';
import type { SessionTable, UssdTables } from '../store/tables.ts';
import { type Session, sessionStatus } from './session.ts';

export interface SessionWrite {
  session: Session;
  /** The form to offer at this phone's next dial; `null` takes the offer back. */
  resume?: { form: string | null; at: number };
  /** The notice for this phone stands on the screen and is not kept any longer. */
  noticeShown?: boolean;
}

export interface SessionStore {
  load(id: string): Promise<Session | undefined>;
  /** Resolves once committed; `false` when the row does not stand at the version before: someone else wrote it. */
  save(write: SessionWrite): Promise<boolean>;
  listActive(now: number): Promise<string[]>;
}

const columns: Record<keyof SessionTable, ColumnType> = {
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

export function createSessionStore(store: Store<UssdTables>, timeoutMs: number): SessionStore {
  const writeSessions = createRowWriter(store, {
    table: 'ussd_session',
    columns,
    key: 'id',
    updateWhere: 'ussd_session.version = excluded.version - 1',
  });
  const writeForms = createRowWriter(store, {
    table: 'ussd_profile',
    columns: { phone: 'text', resume: 'text', resume_at: 'bigint' },
    key: 'phone',
  });
  const writeNotices = createRowWriter(store, {
    table: 'ussd_profile',
    columns: { phone: 'text', notice: 'text' },
    key: 'phone',
  });
  const writer = store.createGroupWriter<SessionWrite, boolean>({
    isolation: 'read committed',
    async apply(trx, writes) {
      const rows = writes.map(({ session }) => toRow(session));
      const written = new Set(await writeSessions(trx, rows));
      // The last one wins: a statement may touch a row once only.
      const forms = new Map<string, { phone: string; resume: string | null; resume_at: number }>();
      for (const { session, resume } of writes) {
        if (!resume || !written.has(session.id)) continue;
        forms.set(session.phone, { phone: session.phone, resume: resume.form, resume_at: resume.at });
      }
      if (forms.size > 0) await writeForms(trx, [...forms.values()]);
      const told = writes.filter(({ session, noticeShown }) => noticeShown && written.has(session.id));
      const phones = new Set(told.map(({ session }) => session.phone));
      if (phones.size > 0)
        await writeNotices(
          trx,
          Array.from(phones, (phone) => ({ phone, notice: null })),
        );
      return writes.map(({ session }) => written.has(session.id));
    },
  });
  const load = createBatchLoader<SessionTable>(store, { table: 'ussd_session', key: 'id' });
  const active = (now: number) =>
    store.db
      .selectFrom('ussd_session')
      .where('status', '=', sessionStatus.active)
      .where('seen_at', '>', now - timeoutMs);

  return {
    load: async (id) => {
      const row = await load(id);
      return row && fromRow(row);
    },
    save: (write) => writer.write(write),
    async listActive(now) {
      const rows = await active(now).select('id').orderBy('opened_at').execute();
      return rows.map(({ id }) => id);
    },
  };
}

function toRow(session: Session): SessionTable & Row {
  const { id, phone, version, status, opening, dialogue, reply } = session;
  return {
    id,
    phone,
    service_code: session.serviceCode,
    version,
    status,
    text_hash: session.textHash,
    text_length: session.textLength,
    opening,
    dialogue,
    reply,
    opened_at: session.openedAt,
    seen_at: session.seenAt,
  };
}

function fromRow(row: SessionTable): Session {
  const { id, phone, version, status, opening, dialogue, reply } = row;
  return {
    id,
    phone,
    serviceCode: row.service_code,
    version,
    status,
    textHash: row.text_hash,
    textLength: row.text_length,
    opening,
    dialogue,
    reply,
    openedAt: row.opened_at,
    seenAt: row.seen_at,
  };
}
