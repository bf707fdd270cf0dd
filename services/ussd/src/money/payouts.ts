import { randomUUID } from 'node:crypto';
import { type Coin, type OutboxRow, type TxOutbox, toSend } from '@palaver/protocol';
import { unreadableText } from '@palaver/store/internal';
import { dayMs, sealedTables, type Trx, type UssdStore, type UssdTables } from '../store/tables.ts';
import { holderAccount, lockBalance, post, systemAccounts } from './books.ts';

export interface NewPayout {
  accountId: string;
  address: string;
  /** In the smallest unit. */
  amount: number;
  now: number;
}

export type PayoutResult = { ok: true; id: string } | { ok: false; reason: 'notEnough' | 'overLimit' };

const entryPrefix = 'payout:';

interface PayoutParts {
  store: UssdStore;
  outbox: TxOutbox<UssdTables>;
  /** Of one account in a day. */
  limit: Coin;
}

export function createPayouts({ store, outbox, limit }: PayoutParts) {
  const { db, cipher } = store;
  const { denom } = limit;
  const system = systemAccounts(denom);

  async function readSent(reader: Pick<Trx, 'selectFrom'>, accountId: string, now: number): Promise<number> {
    const { sum } = await reader
      .selectFrom('ussd_payout')
      .select(({ fn }) => fn.sum<number | null>('amount').as('sum'))
      .where('account_id', '=', accountId)
      .where('created_at', '>', now - dayMs)
      .where('status', '<>', 'failed')
      .executeTakeFirstOrThrow();
    return Number(sum ?? 0);
  }

  return {
    denom,
    async balanceOf(accountId: string, now: number) {
      const holder = holderAccount(accountId, denom);
      const accounts = db.selectFrom('ussd_money_account').select('balance').where('id', '=', holder);
      const balance = BigInt((await accounts.executeTakeFirst())?.balance ?? 0);
      const left = Number(limit.amount) - (await readSent(db, accountId, now));
      return { balance, sendable: Math.max(0, Math.min(Number(balance), left)) };
    },
    /** Debits the holder and queues the payment in the outbox, in the caller's transaction. */
    async send(trx: Trx, { accountId, address, amount, now }: NewPayout): Promise<PayoutResult> {
      const holder = holderAccount(accountId, denom);
      // A negative amount would add coins to the holder.
      if (!Number.isSafeInteger(amount) || amount <= 0) return { ok: false, reason: 'notEnough' };
      if ((await lockBalance(trx, holder)) < amount) return { ok: false, reason: 'notEnough' };
      if ((await readSent(trx, accountId, now)) + amount > Number(limit.amount))
        return { ok: false, reason: 'overLimit' };
      const id = randomUUID();
      const units = BigInt(amount);
      await post(trx, { id: `${entryPrefix}${id}`, entries: { [holder]: -units, [system.transit]: units }, now });
      const row = { id, account_id: accountId, address, denom, amount, status: 'sending' as const, created_at: now };
      await trx.insertInto('ussd_payout').values(cipher.sealRow(sealedTables.payout, row)).execute();
      const coins = [{ denom, amount: String(amount) }];
      const message = toSend({ from: outbox.address, to: address, coins });
      await outbox.add(trx, { id: `${entryPrefix}${id}`, message }, now);
      return { ok: true, id };
    },
    async list(accountId: string, count: number) {
      const query = db.selectFrom('ussd_payout').selectAll().where('account_id', '=', accountId);
      const rows = await query.orderBy('created_at', 'desc').orderBy('id').limit(count).execute();
      return rows.map((row) => cipher.openRow(sealedTables.payout, row, { address: unreadableText }));
    },
  };
}

export type Payouts = ReturnType<typeof createPayouts>;

/** Once for each claim: to the account holder, or as unclaimed where there is none. */
export async function bookReward(
  trx: Trx,
  reward: { claimId: string; accountId: string | undefined; coins: readonly Coin[]; now: number },
): Promise<void> {
  if (reward.coins.length === 0) throw new Error(`claim ${reward.claimId} is paid, and nothing says how much`);
  for (const [denom, coins] of Map.groupBy(reward.coins, (coin) => coin.denom)) {
    const units = coins.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
    const { rewards, unclaimed } = systemAccounts(denom);
    const holder = reward.accountId === undefined ? unclaimed : holderAccount(reward.accountId, denom);
    const entries = { [rewards]: -units, [holder]: units };
    await postNew(trx, { id: `reward:${reward.claimId}:${denom}`, entries, now: reward.now });
  }
}

/** For a number that has an account by now. */
export async function bookUnclaimed(
  trx: Trx,
  { claimId, accountId, now }: { claimId: string; accountId: string; now: number },
): Promise<void> {
  const entries = await trx
    .selectFrom('ussd_money_entry')
    .selectAll()
    .where('transaction_id', '>=', `reward:${claimId}:`)
    .where('transaction_id', '<', `reward:${claimId};`)
    .where('account_id', 'like', 'system:unclaimed:%')
    .execute();
  if (entries.length === 0) throw new Error(`there are no books of reward:${claimId}`);
  for (const { account_id: unclaimed, ...entry } of entries) {
    const amount = BigInt(entry.amount);
    const denom = unclaimed.slice(systemAccounts('').unclaimed.length);
    const moved = { [unclaimed]: -amount, [holderAccount(accountId, denom)]: amount };
    await postNew(trx, { id: `claimed:${claimId}:${denom}`, entries: moved, now });
  }
}

/** Books what cannot have been booked before: its claim was not settled. */
async function postNew(trx: Trx, transaction: Parameters<typeof post>[1]): Promise<void> {
  if (!(await post(trx, transaction))) throw new Error(`transaction ${transaction.id} is booked already`);
}

/** Called by the outbox. A payment that the chain finally refused is given back. */
export async function onPayoutSettled(trx: Trx, row: OutboxRow, outcome: 'included' | 'dead'): Promise<void> {
  if (!row.id.startsWith(entryPrefix)) return;
  const entries = await trx.selectFrom('ussd_money_entry').selectAll().where('transaction_id', '=', row.id).execute();
  const taken = entries.find(({ account_id }) => account_id.startsWith('holder:'));
  if (!taken) throw new Error(`there are no books of ${row.id}`);
  const { transit, paid } = systemAccounts(taken.account_id.split(':').slice(2).join(':'));
  const isPaid = outcome === 'included';
  const amount = BigInt(taken.amount);
  const back = { [transit]: amount, [isPaid ? paid : taken.account_id]: -amount };
  await post(trx, { id: `${isPaid ? 'paid' : 'returned'}:${row.id}`, entries: back, now: Date.now() });
  await trx
    .updateTable('ussd_payout')
    .set({ status: isPaid ? 'sent' : 'failed' })
    .where('id', '=', row.id.slice(entryPrefix.length))
    .execute();
}
