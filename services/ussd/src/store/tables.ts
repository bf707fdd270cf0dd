import type { OutboxRow } from '@palaver/protocol';
import type { AuditActor, AuditLog, DatabaseClock, SealedTable, Store } from '@palaver/store';
import type { LeaseColumns } from '@palaver/store/internal';
import type { Generated, InsertObject, Kysely, SelectQueryBuilder, Transaction } from 'kysely';

export type UssdStore = Store<UssdTables>;
export type UssdAudit = AuditLog<UssdTables>;
export type Trx = Transaction<UssdTables>;
export type Clock = Pick<DatabaseClock, 'now'>;
/** Who does it, for the audit log. */
export interface By {
  actor: AuditActor;
  from: string | null;
}

/** The tables of the USSD service. Times are milliseconds since 1970; JSON is kept as text on both engines. */
export interface UssdTables {
  ussd_session: SessionTable;
  ussd_action_result: {
    key: string;
    phone: string;
    result: string;
    created_at: number;
  };
  ussd_profile: ProfileTable;
  ussd_account: AccountTable;
  ussd_address_change: {
    id: string;
    account_id: string;
    address: string | null;
    proposed_by: string;
    expires_at: number;
  };
  ussd_question: QuestionTable;
  ussd_chat: { phone: string; agent_session: string };
  ussd_secret: { name: string; sealed: string };
  ussd_program_version: {
    id: string;
    program: string;
    source: string;
    used_at: number;
    published_at: number | null;
    published_by: string | null;
    note: string | null;
    /** The id of the version that was in use when this one was published. */
    replaced: string | null;
  };
  ussd_program: {
    name: string;
    published: string | null;
    revision: number;
    draft: string | null;
    draft_at: number | null;
    draft_by: string | null;
    draft_title: string | null;
  };
  ussd_record: Omit<RecordTable, 'mark'> & { mark: Generated<number> };
  ussd_submission: SubmissionTable;
  ussd_sms: SmsTable;
  ussd_claim: ClaimTable;
  ussd_state_stat: StateStatTable;
  ussd_call_stat: CallStatTable;
  ussd_link: {
    /** Keyed hash of the code. */
    id: string;
    /** Keyed hash of the DID: each has one code at a time. */
    owner: string;
    did: string;
    address: string;
    expires_at: number;
  };
  ussd_payout: {
    id: string;
    account_id: string;
    address: string;
    denom: string;
    amount: number;
    status: 'sending' | 'sent' | 'failed';
    created_at: number;
  };
  ussd_tx: OutboxRow;
  /** Amounts as digits: coins with 18 decimals are more than a 64-bit integer holds. */
  ussd_money_account: { id: string; balance: string };
  ussd_money_entry: { transaction_id: string; account_id: string; amount: string; created_at: number };
  ussd_input: { session_id: string; phone: string; version: number; sealed: string; kept_until: number };
}

export const dayMs = 24 * 3_600_000;

export const toTime = (ms: number) => new Date(ms).toISOString();

export const dayOf = (ms: number) => Math.floor(ms / dayMs);

export const countColumns = ['shown', 'answered', 'refused', 'back', 'exited', 'timed_out'] as const;
export const answerColumns = ['s2', 's4', 's7', 's10', 's15', 's20', 's30', 's60', 's120', 'longer'] as const;
export const statColumns = [...countColumns, ...answerColumns];
export type StatCount = (typeof statColumns)[number];

/** Days are counted from 1970. */
export type StateStatTable = Record<'program' | 'version' | 'state' | 'language', string> &
  Record<'day' | StatCount, number>;

/** All, those of numbers that had called before, and those by text message. */
export const callColumns = ['calls', 'returning_calls', 'text_calls'] as const;
export type CallStatTable = Record<'program' | 'version', string> &
  Record<'day' | (typeof callColumns)[number], number>;

export interface ProfileTable {
  phone: string;
  language: string | null;
  resume: string | null;
  resume_at: number | null;
  /** JSON of what is shown at the next dial. */
  notice: string | null;
  /** The session of its first call, in which it stays a newcomer. */
  first_session?: string | null;
  stopped_at?: number | null;
  pushed_at?: number | null;
}

/** Flat texts and numbers, so that a hundred thousand open ones are small in memory. */
export interface SessionTable {
  id: string;
  phone: string;
  service_code: string;
  /** Counts writes: one that does not follow the version it read is refused. */
  version: number;
  status: number;
  /** Keyed hash of the text consumed so far; the text may hold a PIN and is never kept. */
  text_hash: string;
  text_length: number;
  opening: string;
  dialogue: string;
  /** The whole last reply, prefix included, for a telecom gateway that asks again. */
  reply: string;
  opened_at: number;
  seen_at: number;
}

export interface AccountTable {
  id: string;
  phone: string;
  name: string;
  pin: string;
  address: string | null;
  /** Of the wallet that the account is linked to; `address` is the wallet's. */
  did: string | null;
  failed: number;
  locks: number;
  locked_until: number | null;
  /** Wrong PINs since the PIN was last changed or an operator unlocked the account. */
  failed_total: number;
  link_tries: number;
  link_tried_at: number;
  created_at: number;
}

export interface QuestionTable {
  id: string;
  phone: string;
  question: string;
  status: 'pending' | 'answered' | 'failed';
  answer: string | null;
  asked_at: number;
  shown: number;
}

export interface RecordTable {
  id: string;
  program: string;
  kind: string;
  phone: string;
  fields: string;
  created_at: number;
  /** A random number that each change replaces. */
  mark: number;
}

export interface OutboxColumns extends LeaseColumns {
  status: string;
  attempts: number;
  next_at: number | null;
  fault: string | null;
}

/** Its id is the instance's own. */
export interface SubmissionTable extends OutboxColumns {
  program: string;
  form_id: string;
  form_version: string;
  phone: string;
  xml: string;
  /** JSON of the answers by their path. */
  answers: string;
  created_at: number;
  /** `stored` where no server takes it. */
  status: 'stored' | 'queued' | 'sent' | 'failed';
}

export interface SmsTable extends OutboxColumns {
  program: string;
  phone: string;
  caller: string;
  body: string;
  created_at: number;
  status: 'queued' | 'sending' | 'sent' | 'failed';
  /** The dialogue by SMS that it is a screen of. */
  dialogue?: string | null;
  /** The provider's own id, and the state that it has reported. */
  reference?: string | null;
  receipt?: string | null;
}

/** `unclaimed`: paid to this service for a number that has no account yet. */
export const claimStatuses = [
  'queued',
  'sending',
  'submitted',
  'approved',
  'rejected',
  'unclaimed',
  'paid',
  'failed',
] as const;

export interface ClaimTable {
  /** The content id of `content`. */
  id: string;
  source: string;
  phone: string;
  collection: string;
  content: string;
  status: (typeof claimStatuses)[number];
  /** What was paid for it, as phones show it. */
  reward: string | null;
  fault: string | null;
  checked_at: number;
  created_at: number;
}

/** False if a row of the same key exists already. */
export async function insertOnce<Table extends keyof UssdTables>(
  db: Kysely<UssdTables>,
  table: Table,
  row: InsertObject<UssdTables, Table>,
): Promise<boolean> {
  const insert = db.insertInto(table).values(row);
  const { numInsertedOrUpdatedRows = 0n } = await insert
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

export async function countRows<Table extends keyof UssdTables>(rows: SelectQueryBuilder<UssdTables, Table, object>) {
  const { count } = await rows.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  return Number(count);
}

/** What is encrypted where DATA_ENCRYPTION_KEY is set. Phone numbers are tokens: rows are found by them. */
const tokens = ['phone'];

export const sealedTables = {
  input: { table: 'ussd_input', key: ['session_id'], sealed: [], tokens },
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
