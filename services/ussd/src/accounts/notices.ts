import type { Kysely } from 'kysely';
import type { UssdTables } from '../store/tables.ts';

/** What is shown to a phone number at its next dial, because it may not be its owner's doing. */
type NoticeKind = 'pinChanged' | 'unlocked' | 'addressChanged';

export const noticeTexts = ['notice.pinChanged', 'notice.unlocked', 'notice.addressChanged'];

/** `text` is a key into the locales. */
export interface Notice {
  text: string;
  date: string;
}

/** Keeps a notice until it is shown; a newer one takes its place. */
export async function setNotice(db: Kysely<UssdTables>, phone: string, kind: NoticeKind, now: number): Promise<void> {
  const value: Notice = { text: `notice.${kind}`, date: new Date(now).toISOString().slice(0, 10) };
  const notice = JSON.stringify(value);
  await db
    .insertInto('ussd_profile')
    .values({ phone, language: null, resume: null, resume_at: null, notice })
    .onConflict((conflict) => conflict.column('phone').doUpdateSet({ notice }))
    .execute();
}
