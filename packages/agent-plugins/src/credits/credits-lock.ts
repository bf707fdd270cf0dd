import { v7 as uuidv7 } from 'uuid';
import { type Funds, heldAccount, post, readFunds, type Trx, userAccount } from './credits-books.ts';
import { systemAccounts } from './credits-schema.ts';

/** A user who may get the free credit. `client` is undefined for an address that many users share. */
export interface Visit {
  client: string | undefined;
}

export interface GrantOptions {
  /** What a new user starts with. */
  free: number;
  /** How many new users of one client address get it in a day. */
  freePerClient?: number | undefined;
  /** Sets the counters of client addresses apart from the addresses themselves. */
  hashClient?: ((client: string) => string) | undefined;
  /** What the grant of a user is known by after they were erased. */
  referenceOf?: ((did: string) => string) | undefined;
}

/**
 * Locks the account of a user until the commit and brings it up to date: what was set aside too long ago is given back, an
 * allowance whose period is over ends, and a new user who visits gets the free credit. Bookings alone give none: anybody can pay
 * for any number of DIDs.
 */
export function createAccountLock(options: GrantOptions) {
  async function lock(trx: Trx, did: string, visit: Visit | undefined): Promise<Funds> {
    const accounts = [userAccount(did), heldAccount(did)].map((id) => ({ id, balance: 0 }));
    const made = await trx
      .insertInto('agent_credit_account')
      .values(accounts)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    // An update that changes nothing takes the row's lock on PostgreSQL; SQLite has the whole file.
    await trx
      .updateTable('agent_credit_account')
      .set((eb) => ({ balance: eb.ref('balance') }))
      .where('id', '=', userAccount(did))
      .execute();
    await releaseExpired(trx, did);
    await endSubscription(trx, did);
    const funds = await readFunds(trx, did);
    // Who came when their address had used up its day may get it on another.
    const mayLack = made.numInsertedOrUpdatedRows || (funds.balance === 0 && funds.held === 0);
    return visit && mayLack && (await grant(trx, did, visit)) ? readFunds(trx, did) : funds;
  }

  async function grant(trx: Trx, did: string, { client }: Visit): Promise<boolean> {
    const { free } = options;
    const id = `grant:${did}`;
    if (free === 0) return false;
    const known = options.referenceOf ? [id, `grant:${options.referenceOf(did)}`] : [id];
    const given = await trx
      .selectFrom('agent_credit_transaction')
      .select('id')
      .where('id', 'in', known)
      .executeTakeFirst();
    if (given || (client !== undefined && !(await countNewUser(trx, client)))) return false;
    return post(trx, { id, kind: 'grant', did, entries: { [systemAccounts.grants]: -free, [userAccount(did)]: free } });
  }

  /** False if the client's address has reached the daily number of new users. */
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
  const expired = await trx
    .deleteFrom('agent_credit_hold')
    .where('user_did', '=', did)
    .where('expires_at', '<', Date.now())
    .returning(['send_id', 'amount'])
    .execute();
  for (const { send_id, amount } of expired) {
    const entries = { [heldAccount(did)]: -amount, [userAccount(did)]: amount };
    await post(trx, { id: `expire:${send_id}`, kind: 'release', did, entries });
  }
}

/** Takes back what is left of an allowance whose period is over. Messages use up the allowance first. */
async function endSubscription(trx: Trx, did: string): Promise<void> {
  const ended = await trx
    .deleteFrom('agent_credit_subscription')
    .where('user_did', '=', did)
    .where('ends_at', '<', Date.now())
    .returning(['allowance', 'spent'])
    .executeTakeFirst();
  if (!ended) return;
  const { balance } = await readFunds(trx, did);
  const unused = Math.min(balance, Math.max(0, ended.allowance - ended.spent));
  const entries = { [userAccount(did)]: -unused, [systemAccounts.expired]: unused };
  await post(trx, { id: `expiry:${uuidv7()}`, kind: 'expiry', did, entries });
}
