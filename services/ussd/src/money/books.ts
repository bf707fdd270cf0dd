import { insertOnce, type Trx } from '../store/tables.ts';

// Double entry: the entries of every transaction sum to zero, and a balance is the sum of the entries of its account.
// Only holders have a row with their balance: a row of a system account would make all payouts wait for each other.

export const holderAccount = (accountId: string, denom: string) => `holder:${accountId}:${denom}`;

export const systemAccounts = (denom: string) => ({
  /** Rewards that reached the account of this service. */
  rewards: `system:rewards:${denom}`,
  /** Rewards of numbers that have no account yet. */
  unclaimed: `system:unclaimed:${denom}`,
  transit: `system:transit:${denom}`,
  paid: `system:paid:${denom}`,
});

/** False if the id is booked already. Throws where a holder has too little. */
export async function post(
  trx: Trx,
  { id, entries, now }: { id: string; entries: Record<string, bigint>; now: number },
): Promise<boolean> {
  // In one order everywhere, so that two transactions never wait for each other in a circle.
  const booked = Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1));
  if (booked.reduce((sum, [, amount]) => sum + amount, 0n) !== 0n)
    throw new Error(`transaction ${id} does not balance`);
  for (const [account_id, amount] of booked) {
    const entry = { transaction_id: id, account_id, amount: String(amount), created_at: now };
    if (!(await insertOnce(trx, 'ussd_money_entry', entry))) {
      if (account_id === booked[0]?.[0]) return false;
      // The entry before is undone with the caller's transaction.
      throw new Error(`transaction ${id} is booked with other accounts`);
    }
    if (account_id.startsWith('system:')) continue;
    await insertOnce(trx, 'ussd_money_account', { id: account_id, balance: '0' });
    const balance = String((await lockBalance(trx, account_id)) + amount);
    await trx.updateTable('ussd_money_account').set({ balance }).where('id', '=', account_id).execute();
  }
  return true;
}

export async function lockBalance(trx: Trx, id: string): Promise<bigint> {
  // An update that changes nothing takes the row's lock on PostgreSQL; SQLite has the whole file.
  const row = await trx
    .updateTable('ussd_money_account')
    .set((eb) => ({ balance: eb.ref('balance') }))
    .where('id', '=', id)
    .returning('balance')
    .executeTakeFirst();
  return BigInt(row?.balance ?? 0);
}
