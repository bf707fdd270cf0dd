import { AppError } from '@palaver/contract';
import type { CreditAccount, CreditClaim } from '@palaver/contract/internal';
import type { Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { CreditsDatabase, TransactionKind } from './credits-schema.ts';

// The statements that the ledger is made of. Each belongs to a transaction that has locked the user's account.
export type Trx = Transaction<CreditsDatabase>;
export type Funds = { did: string; balance: number; held: number };

export const userAccount = (did: string) => `user:${did}`;
export const heldAccount = (did: string) => `held:${did}`;

/** Books a transaction and its entries; false if its id is booked already. Entries of zero are left out. */
export async function post(
  trx: Trx,
  { id, kind, did, entries }: { id: string; kind: TransactionKind; did: string; entries: Record<string, number> },
): Promise<boolean> {
  // In one order everywhere, so that two transactions never wait for each other in a circle.
  const booked = Object.entries(entries)
    .filter(([, amount]) => amount !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  if (booked.reduce((sum, [, amount]) => sum + amount, 0) !== 0) throw new Error(`transaction ${id} does not balance`);
  const inserted = await trx
    .insertInto('agent_credit_transaction')
    .values({ id, kind, user_did: did, created_at: Date.now() })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (!inserted.numInsertedOrUpdatedRows) return false;
  for (const [account, amount] of booked) {
    await trx
      .updateTable('agent_credit_account')
      .set((eb) => ({ balance: eb('balance', '+', amount) }))
      .where('id', '=', account)
      .execute();
    await trx.insertInto('agent_credit_entry').values({ transaction_id: id, account_id: account, amount }).execute();
  }
  return true;
}

export async function requireSame(
  trx: Trx,
  { id, did, amount }: { id: string; did: string; amount: number },
): Promise<void> {
  const entry = await trx
    .selectFrom('agent_credit_entry')
    .select('amount')
    .where('transaction_id', '=', id)
    .where('account_id', '=', userAccount(did))
    .executeTakeFirst();
  if (entry?.amount === amount) return;
  throw new AppError('CONFLICT', 'This idempotency key was used for another payment.');
}

export async function readFunds(trx: Trx, did: string): Promise<Funds> {
  const rows = await trx
    .selectFrom('agent_credit_account')
    .selectAll()
    .where('id', 'in', [userAccount(did), heldAccount(did)])
    .execute();
  const balances = new Map(rows.map(({ id, balance }) => [id, balance]));
  return { did, balance: balances.get(userAccount(did)) ?? 0, held: balances.get(heldAccount(did)) ?? 0 };
}

export async function openClaims(trx: Trx, did: string): Promise<CreditClaim[]> {
  const rows = await trx
    .selectFrom('agent_credit_claim')
    .selectAll()
    .where('user_did', '=', did)
    .where('status', '=', 'open')
    .orderBy('id')
    .execute();
  return rows.map(toClaim);
}

export async function openClaim(
  trx: Trx,
  did: string,
  { amount, debt }: { amount: number; debt: number },
): Promise<CreditClaim> {
  const row = { id: uuidv7(), user_did: did, amount, debt, status: 'open' as const, created_at: Date.now() };
  await trx.insertInto('agent_credit_claim').values(row).execute();
  return toClaim(row);
}

export async function closeClaim(trx: Trx, id: string, status: 'settled' | 'withdrawn'): Promise<void> {
  await trx.updateTable('agent_credit_claim').set({ status }).where('id', '=', id).execute();
}

export async function toAccount(trx: Trx, funds: Funds): Promise<CreditAccount> {
  const row = await trx
    .selectFrom('agent_credit_subscription')
    .selectAll()
    .where('user_did', '=', funds.did)
    .executeTakeFirst();
  const subscription = row && {
    endsAt: new Date(row.ends_at).toISOString(),
    allowance: row.allowance,
    used: Math.min(row.spent, row.allowance),
  };
  return { ...funds, claims: await openClaims(trx, funds.did), ...(subscription && { subscription }) };
}

function toClaim({ id, amount, debt, status, created_at }: CreditsDatabase['agent_credit_claim']): CreditClaim {
  return { claimId: id, amount, debt, status, createdAt: new Date(created_at).toISOString() };
}
