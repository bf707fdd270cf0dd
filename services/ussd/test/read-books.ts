import type { Kysely } from 'kysely';
import { expect } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';

/** The sum of each account's entries, which is also the stored balance of each holder. */
export async function readBooks(db: Kysely<UssdTables>): Promise<Record<string, string>> {
  const sums = new Map<string, bigint>();
  for (const { account_id, amount } of await db.selectFrom('ussd_money_entry').selectAll().execute())
    sums.set(account_id, (sums.get(account_id) ?? 0n) + BigInt(amount));
  expect([...sums.values()].reduce((total, sum) => total + sum, 0n)).toBe(0n);
  const books = Object.fromEntries([...sums].map(([id, sum]) => [id, String(sum)]));
  const accounts = await db.selectFrom('ussd_money_account').selectAll().execute();
  const holders = Object.entries(books).filter(([id]) => id.startsWith('holder:'));
  expect(Object.fromEntries(accounts.map(({ id, balance }) => [id, balance]))).toEqual(Object.fromEntries(holders));
  return books;
}
