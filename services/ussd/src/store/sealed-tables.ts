import type { SealedTable } from '@palaver/store';

/** What is encrypted where DATA_ENCRYPTION_KEY is set. Phone numbers are tokens: rows are found by them. */
const tokens = ['phone'];

const session: SealedTable = { table: 'ussd_session', key: ['id'], sealed: ['opening', 'dialogue', 'reply'], tokens };
const result: SealedTable = { table: 'ussd_effect', key: ['key'], sealed: ['result'], tokens };

export const sealedTables = {
  session,
  result,
  // Where rows are kept by day, on PostgreSQL.
  sessionOfDay: { ...session, table: 'ussd_session_day', boundAs: 'ussd_session' },
  resultOfDay: { ...result, table: 'ussd_effect_day', boundAs: 'ussd_effect' },
  profile: { table: 'ussd_profile', key: ['phone'], sealed: ['resume', 'notice'], tokens },
  account: { table: 'ussd_account', key: ['id'], sealed: ['name', 'address', 'did'], tokens },
  addressChange: { table: 'ussd_address_change', key: ['id'], sealed: ['address'] },
  link: { table: 'ussd_link', key: ['id'], sealed: ['did', 'address'] },
  payout: { table: 'ussd_payout', key: ['id'], sealed: ['address'] },
  report: { table: 'ussd_report', key: ['reference'], sealed: ['activity', 'amount', 'place', 'note'], tokens },
  record: { table: 'ussd_record', key: ['id'], sealed: ['fields'], tokens },
  submission: { table: 'ussd_submission', key: ['id'], sealed: ['xml', 'answers'], tokens },
  sms: { table: 'ussd_sms', key: ['id'], sealed: ['body'], tokens: ['phone', 'caller'] },
  claim: { table: 'ussd_claim', key: ['id'], sealed: ['content'], tokens },
  question: { table: 'ussd_question', key: ['id'], sealed: ['question', 'answer'], tokens },
  chat: { table: 'ussd_chat', key: ['phone'], sealed: [], tokens },
} satisfies Record<string, SealedTable>;
