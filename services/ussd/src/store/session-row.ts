import type { DataCipher } from '@palaver/store';
import { type Kysely, sql } from 'kysely';
import type { ShownNotice } from './notices.ts';
import { type SessionTable, sealedTables, type Trx, type UssdTables } from './tables.ts';
import type { TextHash } from './text-hash.ts';

/** `active` is an open call, `texting` an open dialogue by SMS. */
export const sessionStatus = { active: 1, ended: 0, expired: 2, texting: 3 } as const;

/** People answer a text message when they get to it. */
export const textingMs = 2 * 24 * 3_600_000;

export const isOpen = ({ status }: Pick<SessionTable, 'status'>) =>
  status === sessionStatus.active || status === sessionStatus.texting;

/** A session is expired from the moment of its timeout on, whether or not it was swept already. */
export function isExpired(session: SessionTable, now: number, timeoutMs: number): boolean {
  const limitMs = session.status === sessionStatus.texting ? textingMs : timeoutMs;
  return session.status === sessionStatus.expired || (isOpen(session) && now - session.seen_at >= limitMs);
}

export interface SessionWrite {
  session: SessionTable;
  /** The session was open before and still is: status and time of opening are as they were. */
  isStep?: boolean;
  /** The form to offer at this phone's next dial; `null` takes the offer back. */
  resume?: { form: string | null; at: number };
  isNewcomer?: boolean;
  /** The text of a notice for this phone that was on the screen and can be removed. */
  noticeShown?: string;
}

export type ApplyWrites = (trx: Trx, writes: readonly SessionWrite[]) => Promise<boolean[]>;

/** The last one of a phone wins: a statement may touch a row once only. */
export function toForms(cipher: DataCipher, writes: readonly SessionWrite[]) {
  const forms = writes.flatMap(({ session: { id, phone }, resume, isNewcomer }) =>
    resume ? [{ id, phone, resume: resume.form, resume_at: resume.at, first_session: isNewcomer ? id : null }] : [],
  );
  return [...new Map(forms.map((form) => [form.phone, cipher.sealRow(sealedTables.profile, form)])).values()];
}

export function toShown(writes: readonly SessionWrite[], written: ReadonlySet<string>): ShownNotice[] {
  return writes.flatMap(({ session: { id, phone }, noticeShown: text }) =>
    text && written.has(id) ? [{ phone, text }] : [],
  );
}

// An erased session keeps an empty row for a while: without one the next key press would replay its inputs.

/** No phone has an empty number. */
export const isErased = ({ phone }: Pick<SessionTable, 'phone'>) => phone === '';

/** `phone` is the number as it is stored. The version grows, so that instances with the session in memory notice. */
export async function endSessions(trx: Kysely<UssdTables>, phone: string, textHash: Pick<TextHash, 'ofErased'>) {
  for (const { id } of await trx.selectFrom('ussd_session').select('id').where('phone', '=', phone).execute()) {
    const erasedId = textHash.ofErased(id);
    // Of an earlier call with this id.
    await trx.deleteFrom('ussd_session').where('id', '=', erasedId).execute();
    await sql`update ussd_session set id = ${erasedId}, phone = '', status = ${sessionStatus.expired}, version = version + 1,
      text_hash = '', text_length = 0, opening = '{"language":"en"}', dialogue = '{"f":1,"s":"","l":"en"}', reply = ''
      where id = ${id} and phone = ${phone}`.execute(trx);
  }
}
