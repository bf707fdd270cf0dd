import { type PersonalData, personalTables } from '@palaver/store';
import { type SqlBool, sql } from 'kysely';
import { endSessions } from './session-row.ts';
import { sealedTables } from './tables.ts';
import type { TextHash } from './text-hash.ts';

const ofPhone = (phone: string) => sql<SqlBool>`phone = ${phone}`;
const ofAccount = (phone: string) => sql<SqlBool>`account_id in (select id from ussd_account where phone = ${phone})`;

/** The phone number is given as it is stored. */
export const createPersonalData = (textHash: Pick<TextHash, 'ofErased'>): PersonalData<string> =>
  personalTables<string>([
    { table: 'ussd_input', sealed: sealedTables.input, omit: ['sealed'], where: ofPhone },
    // Before the rest: what its calls still write waits for this row and is then refused, or is deleted below.
    {
      table: 'ussd_session',
      sealed: sealedTables.session,
      omit: ['text_hash'],
      where: ofPhone,
      erase: (trx, phone) => endSessions(trx, phone, textHash),
    },
    { table: 'ussd_action_result', sealed: sealedTables.result, omit: ['key'], where: ofPhone },
    { table: 'ussd_record', sealed: sealedTables.record, omit: ['mark'], where: ofPhone },
    { table: 'ussd_submission', sealed: sealedTables.submission, where: ofPhone },
    { table: 'ussd_sms', sealed: sealedTables.sms, where: (phone) => sql`phone = ${phone} or caller = ${phone}` },
    { table: 'ussd_claim', sealed: sealedTables.claim, where: ofPhone },
    { table: 'ussd_question', sealed: sealedTables.question, where: ofPhone },
    { table: 'ussd_chat', sealed: sealedTables.chat, where: ofPhone },
    { table: 'ussd_profile', sealed: sealedTables.profile, where: ofPhone },
    { table: 'ussd_address_change', sealed: sealedTables.addressChange, where: ofAccount },
    { table: 'ussd_payout', sealed: sealedTables.payout, where: ofAccount },
    { table: 'ussd_account', sealed: sealedTables.account, omit: ['pin'], where: ofPhone },
  ]);
