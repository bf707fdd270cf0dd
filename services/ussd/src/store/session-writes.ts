import type { DataCipher } from '@palaver/store';
import type { Transaction } from 'kysely';
import type { ShownNotice } from './notices.ts';
import { sealedTables } from './sealed-tables.ts';
import type { Session } from './session-row.ts';
import type { SessionTable, UssdTables } from './tables.ts';

export interface SessionWrite {
  session: Session;
  /** The session was open before and still is: status and time of opening are as they were. */
  isStep?: boolean;
  /** The form to offer at this phone's next dial; `null` takes the offer back. */
  resume?: { form: string | null; at: number };
  /** The phone has never called before. */
  isNewcomer?: boolean;
  /** The text of a notice for this phone that was on the screen and can be removed. */
  noticeShown?: string;
}

export type ApplyWrites = (trx: Transaction<UssdTables>, writes: readonly SessionWrite[]) => Promise<boolean[]>;

/** The last one of a phone wins: a statement may touch a row once only. */
export function toForms(cipher: DataCipher, writes: readonly SessionWrite[]) {
  const forms = writes.flatMap(({ session: { id, phone }, resume, isNewcomer }) =>
    resume ? [{ id, phone, resume: resume.form, resume_at: resume.at, first_session: isNewcomer ? id : null }] : [],
  );
  return [...new Map(forms.map((form) => [form.phone, cipher.sealRow(sealedTables.profile, form)])).values()];
}

/** The notices that were on the screen. */
export function toShown(writes: readonly SessionWrite[], written: ReadonlySet<string>): ShownNotice[] {
  return writes.flatMap(({ session: { id, phone }, noticeShown: text }) =>
    text && written.has(id) ? [{ phone, text }] : [],
  );
}

export function toRow(session: Session): SessionTable {
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

export function fromRow(row: SessionTable): Session {
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
