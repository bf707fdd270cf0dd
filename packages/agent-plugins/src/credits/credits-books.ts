import { AppError } from '@palaver/contract';
import type { CreditAccount, CreditClaim } from '@palaver/contract/internal';
import type { Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { type CreditsDatabase, systemAccounts, type TransactionKind } from './credits-schema.ts';

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
    if (!systemIds.has(account)) {
      const own = trx.updateTable('agent_credit_account').where('id', '=', account);
      const { numUpdatedRows } = await own.set((eb) => ({ balance: eb('balance', '+', amount) })).executeTakeFirst();
      if (numUpdatedRows !== 1n) throw new Error(`there is no account ${account}`);
    }
    await trx.insertInto('agent_credit_entry').values({ transaction_id: id, account_id: account, amount }).execute();
  }
  return true;
}

const systemIds = new Set<string>(Object.values(systemAccounts));

export async function requireSame(trx: Trx, { id, did, amount }: { id: string; did: string; amount: number }) {
  const query = trx.selectFrom('agent_credit_entry').select('amount').where('transaction_id', '=', id);
  const entry = await query.where('account_id', '=', userAccount(did)).executeTakeFirst();
  if (entry?.amount === amount) return;
  throw new AppError('CONFLICT', 'This idempotency key was used for another payment.');
}

export async function readFunds(trx: Trx, did: string): Promise<Funds> {
  const query = trx.selectFrom('agent_credit_account').selectAll();
  const rows = await query.where('id', 'in', [userAccount(did), heldAccount(did)]).execute();
  const balances = new Map(rows.map(({ id, balance }) => [id, balance]));
  return { did, balance: balances.get(userAccount(did)) ?? 0, held: balances.get(heldAccount(did)) ?? 0 };
}

export async function openClaims(trx: Trx, did: string): Promise<CreditClaim[]> {
  const rows = await trx
    .selectFrom('agent_credit_claim')
    .selectAll()
    .where((eb) => eb.and({ user_did: did, status: 'open' }))
    .orderBy('id')
    .execute();
  return rows.map(toClaim);
}

export async function openClaim(trx: Trx, did: string, { amount, debt }: { amount: number; debt: number }) {
  const row = { id: uuidv7(), user_did: did, amount, debt, status: 'open' as const, created_at: Date.now() };
  await trx.insertInto('agent_credit_claim').values(row).execute();
  return toClaim(row);
}

export async function closeClaim(trx: Trx, id: string, status: 'settled' | 'withdrawn'): Promise<void> {
  await trx.updateTable('agent_credit_claim').set({ status }).where('id', '=', id).execute();
}

export async function toAccount(trx: Trx, funds: Funds): Promise<CreditAccount> {
  const query = trx.selectFrom('agent_credit_subscription').selectAll();
  const row = await query.where('user_did', '=', funds.did).executeTakeFirst();
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

export type Visit = { client: string | undefined };

export interface GrantOptions {
  free: number;
  freePerClient?: number | undefined;
  hashClient?: ((client: string) => string) | undefined;
  /** What the grant of a user is known by after they were erased. */
  referenceOf?: ((did: string) => string) | undefined;
}

/** Locks an account until the commit and settles what is due. Only visits get the free credit: anybody can pay for any DID. */
export function createAccountLock(options: GrantOptions) {
  async function lock(trx: Trx, did: string, visit: Visit | undefined): Promise<Funds> {
    const accounts = [userAccount(did), heldAccount(did)].map((id) => ({ id, balance: 0 }));
    const insertion = trx.insertInto('agent_credit_account').values(accounts);
    const made = await insertion.onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
    // An update that changes nothing takes the row's lock on PostgreSQL; SQLite has the whole file.
    const changed = trx.updateTable('agent_credit_account').set((eb) => ({ balance: eb.ref('balance') }));
    await changed.where('id', '=', userAccount(did)).execute();
    await releaseExpired(trx, did);
    await endSubscription(trx, did);
    const funds = await readFunds(trx, did);
    // A user whose address had used up its day may get the credit on another address.
    const mayLack = made.numInsertedOrUpdatedRows || (funds.balance === 0 && funds.held === 0);
    return visit && mayLack && (await grant(trx, did, visit)) ? readFunds(trx, did) : funds;
  }

  async function grant(trx: Trx, did: string, { client }: Visit): Promise<boolean> {
    const { free } = options;
    const id = `grant:${did}`;
    if (free === 0) return false;
    const known = options.referenceOf ? [id, `grant:${options.referenceOf(did)}`] : [id];
    const query = trx.selectFrom('agent_credit_transaction').select('id');
    const given = await query.where('id', 'in', known).executeTakeFirst();
    if (given || (client !== undefined && !(await countNewUser(trx, client)))) return false;
    return post(trx, { id, kind: 'grant', did, entries: { [systemAccounts.grants]: -free, [userAccount(did)]: free } });
  }

  async function countNewUser(trx: Trx, client: string): Promise<boolean> {
    const { freePerClient = Number.POSITIVE_INFINITY, hashClient = (text) => text } = options;
    const day = Math.floor(Date.now() / 86_400_000);
    await trx.deleteFrom('agent_credit_newcomer').where('day', '<', day).execute();
    const { users } = await trx
      .insertInto('agent_credit_newcomer')
      .values({ client: hashClient(client), day, users: 1 })
      .onConflict((conflict) =>
        conflict.columns(['client', 'day']).doUpdateSet((eb) => ({ users: eb('agent_credit_newcomer.users', '+', 1) })),
      )
      .returning('users')
      .executeTakeFirstOrThrow();
    return users <= freePerClient;
  }

  return lock;
}

async function releaseExpired(trx: Trx, did: string): Promise<void> {
  const removal = trx.deleteFrom('agent_credit_hold').where('user_did', '=', did);
  const expired = await removal.where('expires_at', '<', Date.now()).returning(['send_id', 'amount']).execute();
  for (const { send_id, amount } of expired) {
    const entries = { [heldAccount(did)]: -amount, [userAccount(did)]: amount };
    await post(trx, { id: `expire:${send_id}`, kind: 'release', did, entries });
  }
}

/** Takes back what is left of an allowance whose period is over. Messages use up the allowance first. */
async function endSubscription(trx: Trx, did: string): Promise<void> {
  const removal = trx.deleteFrom('agent_credit_subscription').where('user_did', '=', did);
  const ended = await removal.where('ends_at', '<', Date.now()).returning(['allowance', 'spent']).executeTakeFirst();
  if (!ended) return;
  const { balance } = await readFunds(trx, did);
  const unused = Math.min(balance, Math.max(0, ended.allowance - ended.spent));
  const entries = { [userAccount(did)]: -unused, [systemAccounts.expired]: unused };
  await post(trx, { id: `expiry:${uuidv7()}`, kind: 'expiry', did, entries });
}
