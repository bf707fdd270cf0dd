import type { CreditClaim } from '@palaver/contract/internal';
import { outboxMigration, outboxResendMigration, outboxSignerMigration } from '@palaver/protocol';
import type { Migration } from '@palaver/store';
import { type Generated, sql } from 'kysely';

// Double entry: every transaction's entries sum to zero, and an account's balance is the sum of its entries.

export interface CreditsDatabase {
  agent_credit_account: { id: string; balance: number };
  agent_credit_transaction: {
    id: string;
    kind: TransactionKind;
    user_did: string;
    created_at: number;
    /** The usage claim that it is part of. */
    usage_claim: Generated<string | null>;
  };
  agent_credit_entry: { transaction_id: string; account_id: string; amount: number };
  /** What is set aside for a message until its turn has ended. */
  agent_credit_hold: { send_id: string; user_did: string; amount: number; expires_at: number };
  /** New users with free credit by client address (keyed hash) and day. */
  agent_credit_newcomer: { client: string; day: number; users: number };
  /** What reached the agent's address, by transaction and message. `amount` = `credits` × price + `rest`, in the price's coin. */
  agent_credit_payment: {
    hash: string;
    transfer_index: number;
    height: number;
    sender: string;
    memo: string;
    /** As the chain writes it. */
    amount: string;
    credits: number;
    rest: string;
    user_did: string | null;
    /** `dust`: less than one credit costs, and nobody is named. */
    status: 'booked' | 'unmatched' | 'dust';
    created_at: number;
  };
  /** The last block whose payments are booked; `ADDRESS -N` of the look that comes N blocks later. */
  agent_credit_cursor: { address: string; height: number };
  /** What is left of `allowance` when the period ends is taken back. */
  agent_credit_subscription: {
    user_did: string;
    opened_at: number;
    ends_at: number;
    allowance: number;
    spent: number;
  };
  agent_usage_claim: UsageClaimTable;
  agent_credit_claim: {
    id: string;
    user_did: string;
    amount: number;
    debt: number;
    status: CreditClaim['status'];
    created_at: number;
  };
}

export const usageStatuses = ['sending', 'submitted', 'approved', 'rejected', 'paid', 'failed'] as const;

/** What a user used up in a period, as a claim on the protocol. */
export interface UsageClaimTable {
  id: string;
  /** Its name on the protocol: the content id of `content`. */
  claim_id: string;
  user_did: string;
  /** JSON of what the evaluator reads. */
  content: string;
  credits: number;
  /** `rejected`: the credits were given back. */
  status: (typeof usageStatuses)[number];
  fault: string | null;
  checked_at: number;
  created_at: number;
}

/** Transactions by which credit became revenue, and which no usage claim has; the words of their index. */
export const unclaimedUsage = sql<boolean>`usage_claim is null and kind in ('charge', 'debt', 'claim')`;

export type TransactionKind =
  | 'grant'
  | 'hold'
  | 'release'
  | 'charge'
  | 'top-up'
  | 'claim'
  | 'debt'
  | 'refund'
  | 'subscription'
  | 'expiry';

/** Where credit comes from and goes to; these may be below zero, a user's accounts never. */
export const systemAccounts = {
  grants: 'system:grants',
  payments: 'system:payments',
  revenue: 'system:revenue',
  /** Allowances of subscriptions that nobody used in time. */
  expired: 'system:expired',
} as const;

export const creditsMigrations: Migration[] = [
  {
    name: '001-ledger',
    async up(db) {
      await db.schema
        .createTable('agent_credit_account')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('balance', 'bigint', (column) => column.notNull())
        .addCheckConstraint('agent_credit_not_negative', sql`balance >= 0 or id like 'system:%'`)
        .execute();
      await db.schema
        .createTable('agent_credit_transaction')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('agent_credit_entry')
        .addColumn('transaction_id', 'text', (column) => column.notNull().references('agent_credit_transaction.id'))
        .addColumn('account_id', 'text', (column) => column.notNull().references('agent_credit_account.id'))
        .addColumn('amount', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('agent_credit_entry_pk', ['transaction_id', 'account_id'])
        .execute();
      await db.schema
        .createIndex('agent_credit_entry_by_account')
        .on('agent_credit_entry')
        .columns(['account_id', 'transaction_id'])
        .execute();
      await db.schema
        .createTable('agent_credit_hold')
        .addColumn('send_id', 'text', (column) => column.primaryKey())
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('amount', 'bigint', (column) => column.notNull())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('agent_credit_hold_by_user')
        .on('agent_credit_hold')
        .columns(['user_did', 'expires_at'])
        .execute();
      await db.schema
        .createTable('agent_credit_claim')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('amount', 'bigint', (column) => column.notNull())
        .addColumn('debt', 'bigint', (column) => column.notNull())
        .addColumn('status', 'text', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('agent_credit_claim_by_user')
        .on('agent_credit_claim')
        .columns(['user_did', 'status', 'id'])
        .execute();
      for (const id of ['system:grants', 'system:payments', 'system:revenue'])
        await sql`insert into agent_credit_account (id, balance) values (${id}, 0)`.execute(db);
    },
  },
  {
    name: '002-newcomers',
    async up(db) {
      await db.schema
        .createTable('agent_credit_newcomer')
        .addColumn('client', 'text', (column) => column.notNull())
        .addColumn('day', 'integer', (column) => column.notNull())
        .addColumn('users', 'integer', (column) => column.notNull())
        .addPrimaryKeyConstraint('agent_credit_newcomer_pk', ['client', 'day'])
        .execute();
    },
  },
  {
    name: '003-payments-and-subscriptions',
    async up(db) {
      await sql`create table agent_credit_payment (
        hash text not null, transfer_index integer not null, height bigint not null, sender text not null,
        memo text not null, amount text not null, credits bigint not null, rest text not null, user_did text,
        status text not null, created_at bigint not null, primary key (hash, transfer_index))`.execute(db);
      await sql`create index agent_credit_payment_status on agent_credit_payment (status, created_at)`.execute(db);
      await sql`create table agent_credit_cursor (address text primary key, height bigint not null)`.execute(db);
      await sql`create table agent_credit_subscription (
        user_did text primary key, opened_at bigint not null, ends_at bigint not null, allowance bigint not null,
        spent bigint not null)`.execute(db);
      await sql`insert into agent_credit_account (id, balance) values (${systemAccounts.expired}, 0)`.execute(db);
    },
  },
  {
    name: '004-usage-claims',
    async up(db) {
      await sql`alter table agent_credit_transaction add column usage_claim text`.execute(db);
      await sql`create index agent_credit_unclaimed on agent_credit_transaction (user_did, created_at)
        where ${unclaimedUsage}`.execute(db);
      await sql`create index agent_credit_claimed on agent_credit_transaction (usage_claim)
        where usage_claim is not null`.execute(db);
      await sql`create table agent_usage_claim (
        id text primary key, claim_id text not null, user_did text not null, content text not null,
        credits bigint not null, status text not null, fault text, checked_at bigint not null,
        created_at bigint not null)`.execute(db);
      await sql`create index agent_usage_claim_status on agent_usage_claim (status, checked_at)`.execute(db);
      await sql`create index agent_usage_claim_user on agent_usage_claim (user_did)`.execute(db);
    },
  },
  outboxMigration('agent_usage', '005-usage-outbox'),
  outboxResendMigration('agent_usage', '006-usage-outbox-resend'),
  outboxSignerMigration('agent_usage', '007-usage-outbox-signer'),
];
