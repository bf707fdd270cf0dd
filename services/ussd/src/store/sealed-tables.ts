import type { SealedTable } from '@palaver/store';

/** What is encrypted where DATA_ENCRYPTION_KEY is set. Phone numbers are tokens: rows are found by them. */
const tokens = ['phone'];

export const sealedTables = {
  session: { table: 'ussd_session', key: ['id'], sealed: ['opening', 'dialogue', 'reply'], tokens },
  result: { table: 'ussd_action_result', key: ['key'], sealed: ['result'], tokens },
  profile: { table: 'ussd_profile', key: ['phone'], sealed: ['resume', 'notice'], tokens },
  account: { table: 'ussd_account', key: ['id'], sealed: ['name', 'address', 'did'], tokens },
  addressChange: { table: 'ussd_address_change', key: ['id'], sealed: ['address'] },
  link: { table: 'ussd_link', key: ['id'], sealed: ['did', 'address'] },
  payout: { table: 'ussd_payout', key: ['id'], sealed: ['address'] },
  record: { table: 'ussd_record', key: ['id'], sealed: ['fields'], tokens },
  submission: { table: 'ussd_submission', key: ['id'], sealed: ['xml', 'answers'], tokens },
  sms: { table: 'ussd_sms', key: ['id'], sealed: ['body'], tokens: ['phone', 'caller'] },
  claim: { table: 'ussd_claim', key: ['id'], sealed: ['content'], tokens },
  question: { table: 'ussd_question', key: ['id'], sealed: ['question', 'answer'], tokens },
  chat: { table: 'ussd_chat', key: ['phone'], sealed: [], tokens },
} satisfies Record<string, SealedTable>;
