import { randomUUID } from 'node:crypto';
import type { AgentPerson } from '@palaver/agent';
import type { CreditClaim } from '@palaver/contract/internal';
import { type PersonalData, personalTables } from '@palaver/store';
import { type Generated, sql } from 'kysely';
import { toFirstSchema } from '../plugin-parts.ts';

// Double entry. Only users' accounts keep their sum: a row that every charge writes would make all charges wait.

export interface CreditsDatabase {
  agent_credit_account: { id: string; balance: number };
  agent_credit_transaction: {
    id: string;
    kind: TransactionKind;
    user_did: string;
    created_at: number;
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
  agent_credit_subscription: { user_did: string; opened_at: number; ends_at: number; allowance: number; spent: number };
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

export interface UsageClaimTable {
  id: string;
  /** Its name on the protocol: the content id of `content`. */
  claim_id: string;
  user_did: string;
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

/** Where credit comes from and goes to. They have entries and no row: no charge reads what they sum to. */
export const systemAccounts = {
  grants: 'system:grants',
  payments: 'system:payments',
  revenue: 'system:revenue',
  expired: 'system:expired',
} as const;

const statements = [
  sql`create table agent_credit_account (
    id text primary key, balance bigint not null check (balance >= 0))`,
  sql`create table agent_credit_transaction (
    id text primary key, kind text not null, user_did text not null, created_at bigint not null, usage_claim text)`,
  sql`create index agent_credit_transaction_by_user on agent_credit_transaction (user_did)`,
  sql`create index agent_credit_unclaimed on agent_credit_transaction (user_did, created_at) where ${unclaimedUsage}`,
  sql`create index agent_credit_claimed on agent_credit_transaction (usage_claim) where usage_claim is not null`,
  sql`create table agent_credit_entry (
    transaction_id text not null references agent_credit_transaction (id),
    account_id text not null, amount bigint not null,
    primary key (transaction_id, account_id))`,
  sql`create index agent_credit_entry_by_account on agent_credit_entry (account_id, transaction_id)`,
  sql`create table agent_credit_hold (
    send_id text primary key, user_did text not null, amount bigint not null, expires_at bigint not null)`,
  sql`create index agent_credit_hold_by_user on agent_credit_hold (user_did, expires_at)`,
  sql`create table agent_credit_claim (
    id text primary key, user_did text not null, amount bigint not null, debt bigint not null, status text not null,
    created_at bigint not null)`,
  sql`create index agent_credit_claim_by_user on agent_credit_claim (user_did, status, id)`,
  sql`create table agent_credit_newcomer (
    client text not null, day integer not null, users integer not null, primary key (day, client))`,
  sql`create table agent_credit_payment (
    hash text not null, transfer_index integer not null, height bigint not null, sender text not null,
    memo text not null, amount text not null, credits bigint not null, rest text not null, user_did text,
    status text not null, created_at bigint not null, primary key (hash, transfer_index))`,
  sql`create index agent_credit_payment_status on agent_credit_payment (status, created_at)`,
  sql`create index agent_credit_payment_by_user on agent_credit_payment (user_did)`,
  sql`create table agent_credit_cursor (address text primary key, height bigint not null)`,
  sql`create table agent_credit_subscription (
    user_did text primary key, opened_at bigint not null, ends_at bigint not null, allowance bigint not null,
    spent bigint not null)`,
  sql`create table agent_usage_claim (
    id text primary key, claim_id text not null, user_did text not null, content text not null, credits bigint not null,
    status text not null, fault text, checked_at bigint not null, created_at bigint not null)`,
  sql`create index agent_usage_claim_status on agent_usage_claim (status, checked_at)`,
  sql`create index agent_usage_claim_user on agent_usage_claim (user_did)`,
];

export const creditsMigrations = toFirstSchema(statements, 'agent_usage');

const ownerColumns = {
  agent_credit_account: 'id',
  agent_credit_transaction: 'user_did',
  agent_credit_entry: 'account_id',
  agent_credit_hold: 'user_did',
  agent_credit_claim: 'user_did',
  agent_credit_payment: 'user_did',
  agent_credit_subscription: 'user_did',
  agent_usage_claim: 'user_did',
};
const accountsOf = (name: string) => [`user:${name}`, `held:${name}`];

/** The books must still balance, so an erased user's entries stay under a random name. */
export const creditsPersonalData: PersonalData<AgentPerson> = {
  ...personalTables<AgentPerson>(
    Object.entries(ownerColumns).map(([table, column]) => ({
      table,
      where: ({ did }) => sql`${sql.ref(column)} in (${sql.join(column === 'user_did' ? [did] : accountsOf(did))})`,
    })),
  ),
  async erase(trx, { did, reference }) {
    const name = `erased:${randomUUID()}`;
    for (const [index, account] of accountsOf(did).entries()) {
      const to = accountsOf(name)[index];
      await sql`insert into agent_credit_account (id, balance)
        select ${to}, balance from agent_credit_account where id = ${account}`.execute(trx);
      await sql`update agent_credit_entry set account_id = ${to} where account_id = ${account}`.execute(trx);
      await sql`delete from agent_credit_account where id = ${account}`.execute(trx);
    }
    // The id of the first grant names the user. A keyed hash stays, so that the free credit is given once.
    const [grant, renamed] = [`grant:${did}`, `grant:${reference}`];
    await sql`insert into agent_credit_transaction (id, kind, user_did, created_at)
      select ${renamed}, kind, ${name}, created_at from agent_credit_transaction where id = ${grant}`.execute(trx);
    await sql`update agent_credit_entry set transaction_id = ${renamed} where transaction_id = ${grant}`.execute(trx);
    await sql`delete from agent_credit_transaction where id = ${grant}`.execute(trx);
    // What the chain has of a payment is public; the memo may name the user.
    await sql`update agent_credit_payment set memo = '' where user_did = ${did}`.execute(trx);
    for (const [table, column] of Object.entries(ownerColumns))
      if (column === 'user_did')
        await sql`update ${sql.table(table)} set user_did = ${name} where user_did = ${did}`.execute(trx);
  },
};
