import type { DataCipher } from '@palaver/store';
import type { Kysely } from 'kysely';
import { sealedTables } from '../store/sealed-tables.ts';
import type { UssdTables } from '../store/tables.ts';

/** What is shown to a phone number at its next dial, because it may not be its owner's doing. */
type NoticeKind = 'pinChanged' | 'unlocked' | 'addressChanged' | 'walletLinked';

export const noticeTexts = ['notice.pinChanged', 'notice.unlocked', 'notice.addressChanged'];

/** `text` is a key into the locales. */
export interface Notice {
  text: string;
  date: string;
}

export type SetNotice = (
  db: Kysely<UssdTables>,
  person: { phone: string; now: number },
  kind: NoticeKind,
) => Promise<void>;

/** Keeps a notice until it is shown; a newer one takes its place. */
export const createSetNotice =
  (cipher: DataCipher): SetNotice =>
  async (db, { phone, now }, kind) => {
    const value: Notice = { text: `notice.${kind}`, date: new Date(now).toISOString().slice(0, 10) };
    const row = cipher.sealRow(sealedTables.profile, { phone, notice: JSON.stringify(value) });
    await db
      .insertInto('ussd_profile')
      .values({ ...row, language: null, resume: null, resume_at: null })
      .onConflict((conflict) => conflict.column('phone').doUpdateSet({ notice: row.notice }))
      .execute();
  };
