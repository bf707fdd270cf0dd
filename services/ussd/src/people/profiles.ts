import { type FormSnapshot, type Menu, nameOf, type Opening } from '@palaver/program/internal';
import { createBatchLoader } from '../store/batch-loader.ts';
import { openNotices } from '../store/notices.ts';
import { sealedTables, type Trx, type UssdStore, type UssdTables } from '../store/tables.ts';

export interface ProfileOptions {
  /** Of callers who have not chosen one, where the program has it; else the program's first. */
  defaultLanguage: string;
  resumeMs: number;
}

/** What is remembered of a phone number: its language, and the form it left unfinished. */
export function createProfiles(store: UssdStore, options: ProfileOptions) {
  const { cipher } = store;
  const load = createBatchLoader<UssdTables['ussd_profile']>(store, 'ussd_profile', 'phone');
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
    async setLanguage(trx: Trx, phone: string, language: string) {
      await trx
        .insertInto('ussd_profile')
        .values({ phone: cipher.token(phone), language, resume: null, resume_at: null, notice: null })
        .onConflict((conflict) => conflict.column('phone').doUpdateSet({ language }))
        .execute();
    },
  };
}

export type Profiles = ReturnType<typeof createProfiles>;
