import type { Store } from '@palaver/store';
import type { Transaction } from 'kysely';
import type { Notice } from '../accounts/notices.ts';
import type { FormSnapshot } from '../menu/dialogue.ts';
import type { Opening } from '../menu/engine.ts';
import { createBatchLoader } from '../store/batch-loader.ts';
import type { UssdTables } from '../store/tables.ts';

/** What is remembered of a phone number: its language, and the form it left unfinished. */
export interface Profiles {
  loadOpening(phone: string, now: number): Promise<Opening>;
  setLanguage(trx: Transaction<UssdTables>, phone: string, language: string): Promise<void>;
}

export interface ProfileOptions {
  defaultLanguage: string;
  hasLanguage(language: string): boolean;
  resumeMs: number;
}

export function createProfiles(store: Store<UssdTables>, options: ProfileOptions): Profiles {
  const load = createBatchLoader<UssdTables['ussd_profile']>(store, { table: 'ussd_profile', key: 'phone' });
  return {
    async loadOpening(phone, now) {
      const profile = await load(phone);
      const language =
        profile?.language && options.hasLanguage(profile.language) ? profile.language : options.defaultLanguage;
      const recent = profile?.resume && (profile.resume_at ?? 0) > now - options.resumeMs;
      const opening: Opening = { language };
      if (recent) opening.resume = JSON.parse(profile.resume as string) as FormSnapshot;
      if (profile?.notice) opening.notice = JSON.parse(profile.notice) as Notice;
      return opening;
    },
    async setLanguage(trx, phone, language) {
      await trx
        .insertInto('ussd_profile')
        .values({ phone, language, resume: null, resume_at: null, notice: null })
        .onConflict((conflict) => conflict.column('phone').doUpdateSet({ language }))
        .execute();
    },
  };
}
