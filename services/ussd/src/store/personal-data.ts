import { type PersonalData, personalTables } from '@palaver/store';
import { type SqlBool, sql } from 'kysely';

const ofPhone = (phone: string) => sql<SqlBool>`phone = ${phone}`;

/** What the USSD gateway keeps of a phone number. */
export const ussdPersonalData: PersonalData<string> = personalTables<string>([
  {
    table: 'ussd_input',
    omit: ['sealed'],
    where: (phone) => sql`session_id in (select id from ussd_session where phone = ${phone})`,
  },
  {
    table: 'ussd_input',
    needs: 'ussd_session_day',
    omit: ['sealed'],
    where: (phone) => sql`session_id in (select id from ussd_session_day where phone = ${phone})`,
  },
  { table: 'ussd_effect', omit: ['key'], where: ofPhone },
  { table: 'ussd_effect_day', needs: 'ussd_effect_day', omit: ['key'], where: ofPhone },
  { table: 'ussd_session_day', needs: 'ussd_session_day', omit: ['text_hash'], where: ofPhone },
  { table: 'ussd_session', omit: ['text_hash'], where: ofPhone },
  { table: 'ussd_report', where: ofPhone },
  { table: 'ussd_question', where: ofPhone },
  { table: 'ussd_chat', where: ofPhone },
  { table: 'ussd_profile', where: ofPhone },
  {
    table: 'ussd_address_change',
    where: (phone) => sql`account_id in (select id from ussd_account where phone = ${phone})`,
  },
  { table: 'ussd_account', omit: ['pin'], where: ofPhone },
]);
