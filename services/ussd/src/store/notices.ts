import type { DataCipher } from '@palaver/store';
import { type Kysely, sql } from 'kysely';
import { type ProfileTable, sealedTables, type Trx, type UssdTables } from './tables.ts';

/** What is shown to a phone number at a dial. `text` is a key into the locales. */
interface Notice {
  text: string;
  date: string;
}

export interface ShownNotice {
  phone: string;
  text: string;
}

/** The notices of a row as it is stored, the most serious one first. */
export function openNotices(cipher: DataCipher, row: Pick<ProfileTable, 'phone' | 'notice'>): Notice[] {
  const { notice } = cipher.openRow(sealedTables.profile, row, { notice: null });
  return notice ? JSON.parse(notice) : [];
}

/** Notices that someone else has changed since they were read stay, and are shown again. */
export async function forgetNotices(trx: Trx, cipher: DataCipher, shown: ShownNotice[]) {
  for (const { phone, text } of shown) {
    const isIt = sql<boolean>`phone = ${cipher.token(phone)}`;
    const known = await trx.selectFrom('ussd_profile').select(['phone', 'notice']).where(isIt).executeTakeFirst();
    if (!known?.notice) continue;
    const rest = openNotices(cipher, known).filter((other) => other.text !== text);
    const kept = { phone, notice: rest.length > 0 ? JSON.stringify(rest) : null };
    const { notice } = cipher.sealRow(sealedTables.profile, kept);
    await trx.updateTable('ussd_profile').set({ notice }).where(isIt).where('notice', '=', known.notice).execute();
  }
}

/** What is shown to a phone number at its next dial, because it may not be its owner's doing. */
type NoticeKind = 'pinChanged' | 'unlocked' | 'addressChanged' | 'walletLinked';

export const noticeTexts = ['notice.pinChanged', 'notice.unlocked', 'notice.addressChanged'];

/** By seriousness. */
const kinds: NoticeKind[] = ['pinChanged', 'walletLinked', 'addressChanged', 'unlocked'];
const textOf = (kind: NoticeKind) => `notice.${kind}`;

/** A newer notice takes the place of its own kind alone. */
export const createSetNotice =
  (cipher: DataCipher) =>
  async (db: Kysely<UssdTables>, { phone, now }: { phone: string; now: number }, kind: NoticeKind): Promise<void> => {
    const profiles = db.selectFrom('ussd_profile').select(['phone', 'notice']);
    const known = await profiles.where('phone', '=', cipher.token(phone)).executeTakeFirst();
    const kept = known ? openNotices(cipher, known) : [];
    const notices = [
      ...kept.filter(({ text }) => text !== textOf(kind)),
      { text: textOf(kind), date: new Date(now).toISOString().slice(0, 10) },
    ];
    const rank = ({ text }: Notice) => kinds.findIndex((other) => textOf(other) === text);
    notices.sort((a, b) => rank(a) - rank(b));
    const row = cipher.sealRow(sealedTables.profile, { phone, notice: JSON.stringify(notices) });
    await db
      .insertInto('ussd_profile')
      .values({ ...row, language: null, resume: null, resume_at: null })
      .onConflict((conflict) => conflict.column('phone').doUpdateSet({ notice: row.notice }))
      .execute();
  };
