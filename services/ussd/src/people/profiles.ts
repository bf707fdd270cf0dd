import { type FormSnapshot, type Menu, nameOf, type Opening } from '@palaver/program/internal';
import type { Kysely } from 'kysely';
import { createBatchLoader } from '../store/batch-loader.ts';
import { openNotices } from '../store/notices.ts';
import { dayMs, type ProfileTable, sealedTables, type Trx, type UssdStore, type UssdTables } from '../store/tables.ts';

export interface ProfileOptions {
  /** Of callers who have not chosen one, where the program has it; else the program's first. */
  defaultLanguage: string;
  resumeMs: number;
}

const emptyProfile = { language: null, resume: null, resume_at: null, notice: null } as const;

export function createProfiles(store: UssdStore, options: ProfileOptions) {
  const { cipher } = store;
  const load = createBatchLoader<UssdTables['ussd_profile']>(store, 'ussd_profile', 'phone');
  const set = async (db: Kysely<UssdTables>, phone: string, change: Partial<ProfileTable>) => {
    const insert = db.insertInto('ussd_profile').values({ ...emptyProfile, phone: cipher.token(phone), ...change });
    await insert.onConflict((conflict) => conflict.column('phone').doUpdateSet(change)).execute();
  };
  return {
    async loadOpening({ sessionId, phoneNumber }: { sessionId: string; phoneNumber: string }, now: number, menu: Menu) {
      const row = await load(cipher.token(phoneNumber));
      const profile = row && cipher.openRow(sealedTables.profile, row, { resume: null });
      const wanted = [profile?.language ?? '', options.defaultLanguage].find((name) => menu.locales.has(name));
      const language = wanted ?? menu.locales.keys().next().value ?? options.defaultLanguage;
      const opening: Opening = { language, program: menu.id };
      if (profile?.resume && (profile.resume_at ?? 0) > now - options.resumeMs) {
        const form = JSON.parse(profile.resume) as FormSnapshot;
        if (form.program === undefined || form.program === nameOf(menu.id))
          Object.assign(opening, { resume: form, resumeAt: profile.resume_at });
      }
      // Also where its session is gone and is built again from the inputs: their numbers are those of the screens it saw.
      if (!row || row.first_session === sessionId) opening.isNewcomer = true;
      const [notice] = row ? openNotices(cipher, row) : [];
      if (notice) opening.notice = notice;
      return opening;
    },
    /** When the unfinished form of a phone was last changed, finished ones included. */
    findResumeAt: async (phone: string) => (await load(cipher.token(phone)))?.resume_at,
    setStopped: (phone: string, stoppedAt: number | null) => set(store.db, phone, { stopped_at: stoppedAt }),
    /** Whether the service may open a session at a number now; it then may not again for a day. */
    async takePush(phone: string, now: number) {
      const { numUpdatedRows } = await store.db
        .updateTable('ussd_profile')
        .set({ pushed_at: now })
        .where('phone', '=', cipher.token(phone))
        .where('stopped_at', 'is', null)
        .where((row) => row.or([row('pushed_at', 'is', null), row('pushed_at', '<=', now - dayMs)]))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async returnPush(phone: string) {
      const update = store.db.updateTable('ussd_profile').set({ pushed_at: null });
      await update.where('phone', '=', cipher.token(phone)).execute();
    },
    isStopped: async (phone: string) => Boolean((await load(cipher.token(phone)))?.stopped_at),
    setLanguage: (trx: Trx, phone: string, language: string) => set(trx, phone, { language }),
  };
}

export type Profiles = ReturnType<typeof createProfiles>;
