import type { CreditAccount, CreditTopUp } from '@palaver/contract/internal';
import type { Store } from '@palaver/store';
import { v7 as uuidv7 } from 'uuid';
import {
  closeClaim,
  createAccountLock,
  type Funds,
  type GrantOptions,
  heldAccount,
  openClaim,
  openClaims,
  post,
  readFunds,
  requireSame,
  type Trx,
  toAccount,
  userAccount,
  type Visit,
} from './credits-books.ts';
import { type CreditsDatabase, systemAccounts } from './credits-schema.ts';

export interface LedgerOptions extends GrantOptions {
  /** What is set aside for a message before it is answered, or as much as there is. */
  reservation: number;
  claim: number;
}

export type OnBooked = (trx: Trx, payment: { did: string; amount: number }) => Promise<void>;

// Longer than any turn in practice; what is left behind by a process that died is given back after it.
const holdMs = 3_600_000;

export type SubscriptionTerms = { days: number; allowance: number; credits: number };

export interface ChainPayment {
  did: string;
  id: string;
  credits: number;
  claimIds: string[];
  subscription: SubscriptionTerms | undefined;
}

export type Ledger = ReturnType<typeof createLedger>;

/** Credit in double entry: the user's account is locked first, and each transaction's id is unique, so nothing is booked twice. */
export function createLedger(store: Store<CreditsDatabase>, options: LedgerOptions) {
  const lock = createAccountLock(options);
  const run = <T>(did: string, fn: (trx: Trx, funds: Funds) => Promise<T>, visit?: Visit): Promise<T> =>
    store.transaction(async (trx) => fn(trx, await lock(trx, did, visit)), { isolation: 'read committed' });

  /** The claim may have been withdrawn in the meantime. */
  async function bookClaim(trx: Trx, did: string, { id, amount, debt }: { id: string; amount: number; debt: number }) {
    const entries = {
      [systemAccounts.payments]: -amount,
      [systemAccounts.revenue]: debt,
      [userAccount(did)]: amount - debt,
    };
    await post(trx, { id: `claim:${id}`, kind: 'claim', did, entries });
    await closeClaim(trx, id, 'settled');
  }

  async function openSubscription(trx: Trx, did: string, { allowance, days }: SubscriptionTerms, payment: string) {
    const entries = { [systemAccounts.payments]: -allowance, [userAccount(did)]: allowance };
    await post(trx, { id: `subscription:${payment}`, kind: 'subscription', did, entries });
    const now = Date.now();
    const period = days * 86_400_000;
    await trx
      .insertInto('agent_credit_subscription')
      .values({ user_did: did, opened_at: now, ends_at: now + period, allowance, spent: 0 })
      .onConflict((conflict) =>
        conflict.column('user_did').doUpdateSet((eb) => ({
          ends_at: eb('agent_credit_subscription.ends_at', '+', period),
          allowance: eb('agent_credit_subscription.allowance', '+', allowance),
        })),
      )
      .execute();
  }

  return {
    account: (did: string): Promise<CreditAccount> => run(did, toAccount),

    visit: (did: string, client?: string): Promise<CreditAccount> => run(did, toAccount, { client }),

    /** Sets credit aside for a message; where there is none, the ids of the claims that have to be settled first. */
    reserve: (did: string, sendId: string, client?: string) => {
      const setAside = async (trx: Trx, { balance }: Funds) => {
        const open = await openClaims(trx, did);
        const isBarred = open.some(({ debt }) => debt > 0);
        if (balance < 1 && open.length === 0) open.push(await openClaim(trx, did, { amount: options.claim, debt: 0 }));
        if (balance < 1 || isBarred) return { claimIds: open.map(({ claimId }) => claimId) };
        const amount = Math.min(balance, options.reservation);
        const entries = { [userAccount(did)]: -amount, [heldAccount(did)]: amount };
        await post(trx, { id: `hold:${sendId}`, kind: 'hold', did, entries });
        const hold = { send_id: sendId, user_did: did, amount, expires_at: Date.now() + holdMs };
        await trx.insertInto('agent_credit_hold').values(hold).execute();
        return undefined;
      };
      return run(did, setAside, { client });
    },

    /** Sets more aside before a call of the model. Alone, a message may end in debt, which bars the next; refused, the claims to settle. */
    raise: (did: string, { sendId, need, spent }: { sendId: string; need: number; spent: number }) =>
      run(did, async (trx, { balance, held }) => {
        const query = trx.selectFrom('agent_credit_hold').select('amount');
        const own = await query.where('send_id', '=', sendId).executeTakeFirst();
        const { amount: before = 0 } = own ?? {};
        const isAlone = held === before;
        if ((isAlone ? spent : need) > before + balance) {
          const open = await openClaims(trx, did);
          // Alone, the claim is opened when the debt is booked.
          if (open.length === 0 && !isAlone) open.push(await openClaim(trx, did, { amount: options.claim, debt: 0 }));
          return { claimIds: open.map(({ claimId }) => claimId) };
        }
        const more = Math.min(need - before, balance);
        if (!own || more <= 0) return undefined;
        const entries = { [userAccount(did)]: -more, [heldAccount(did)]: more };
        await post(trx, { id: `raise:${uuidv7()}`, kind: 'hold', did, entries });
        const update = trx.updateTable('agent_credit_hold').set({ amount: before + more });
        await update.where('send_id', '=', sendId).execute();
        return undefined;
      }),

    /** Books what a message cost and gives the rest of what was set aside back. What nobody can pay becomes a claim. */
    charge: (did: string, sendId: string, cost: number): Promise<void> =>
      run(did, async (trx, { balance }) => {
        const removal = trx.deleteFrom('agent_credit_hold').where('send_id', '=', sendId);
        const hold = await removal.returning('amount').executeTakeFirst();
        if (!hold && cost === 0) return;
        const held = hold?.amount ?? 0;
        const paid = Math.min(cost, held + balance);
        const booked = await post(trx, {
          id: `charge:${sendId}`,
          kind: cost === 0 ? 'release' : 'charge',
          did,
          entries: { [heldAccount(did)]: -held, [userAccount(did)]: held - paid, [systemAccounts.revenue]: paid },
        });
        if (!booked) return;
        const update = trx.updateTable('agent_credit_subscription').set((eb) => ({ spent: eb('spent', '+', paid) }));
        await update.where('user_did', '=', did).execute();
        const debt = cost - paid;
        if (debt > 0) await openClaim(trx, did, { amount: debt + options.claim, debt });
        await reconcile(trx, did);
      }),

    bookPayment,

    /** Gives back what answers cost, once. `keep` notes it in the same transaction; false if it was noted before. */
    refund: (did: string, { id, credits }: { id: string; credits: number }, keep: (trx: Trx) => Promise<boolean>) =>
      run(did, async (trx) => {
        if (!(await keep(trx))) return;
        const entries = { [systemAccounts.revenue]: -credits, [userAccount(did)]: credits };
        await post(trx, { id: `refund:${id}`, kind: 'refund', did, entries });
        await reconcile(trx, did);
      }),

    /** `onBooked` belongs to the payment's transaction. */
    topUp: ({ did, amount, idempotencyKey }: CreditTopUp, onBooked?: OnBooked): Promise<CreditAccount> =>
      run(did, async (trx) => {
        const id = `top-up:${idempotencyKey}`;
        const entries = { [systemAccounts.payments]: -amount, [userAccount(did)]: amount };
        if (await post(trx, { id, kind: 'top-up', did, entries })) await onBooked?.(trx, { did, amount });
        else await requireSame(trx, { id, did, amount });
        await reconcile(trx, did);
        return toAccount(trx, await readFunds(trx, did));
      }),

    async settleClaim(claimId: string, onBooked?: OnBooked): Promise<CreditAccount | undefined> {
      const query = store.db.selectFrom('agent_credit_claim').select('user_did');
      const claim = await query.where('id', '=', claimId).executeTakeFirst();
      if (!claim) return undefined;
      const did = claim.user_did;
      return run(did, async (trx) => {
        const query = trx.selectFrom('agent_credit_claim').selectAll().where('id', '=', claimId);
        const { status, amount, debt } = await query.executeTakeFirstOrThrow();
        if (status !== 'settled') {
          await bookClaim(trx, did, { id: claimId, amount, debt });
          await onBooked?.(trx, { did, amount });
          await reconcile(trx, did);
        }
        return toAccount(trx, await readFunds(trx, did));
      });
    },
  };

  /** Books a payment on the chain: its claims in order, its subscription, the rest as credit. False if `keep` has noted it before. */
  function bookPayment(payment: ChainPayment, keep: (trx: Trx) => Promise<boolean>): Promise<boolean> {
    const { did, id, credits, claimIds, subscription } = payment;
    return run(did, async (trx) => {
      if (!(await keep(trx))) return false;
      let left = credits;
      if (subscription && left >= subscription.credits) {
        await openSubscription(trx, did, subscription, id);
        left -= subscription.credits;
      }
      for (const claimId of claimIds) {
        const query = trx.selectFrom('agent_credit_claim').selectAll();
        const claim = await query.where((eb) => eb.and({ id: claimId, user_did: did })).executeTakeFirst();
        if (!claim || claim.status === 'settled' || claim.amount > left) continue;
        await bookClaim(trx, did, claim);
        left -= claim.amount;
      }
      const entries = { [systemAccounts.payments]: -left, [userAccount(did)]: left };
      if (left > 0) await post(trx, { id: `chain:${id}`, kind: 'top-up', did, entries });
      await reconcile(trx, did);
      return true;
    });
  }

  /** Updates claims to the balance: pays debts as far as it covers them, and withdraws claims of users who have credit. */
  async function reconcile(trx: Trx, did: string): Promise<void> {
    for (const { claimId, debt } of await openClaims(trx, did)) {
      const { balance } = await readFunds(trx, did);
      if (balance < Math.max(debt, 1)) continue;
      if (debt > 0) {
        const entries = { [userAccount(did)]: -debt, [systemAccounts.revenue]: debt };
        await post(trx, { id: `debt:${claimId}`, kind: 'debt', did, entries });
      }
      await closeClaim(trx, claimId, debt > 0 ? 'settled' : 'withdrawn');
    }
    const { balance, held } = await readFunds(trx, did);
    if (balance < 1 && held === 0 && (await openClaims(trx, did)).length === 0)
      await openClaim(trx, did, { amount: options.claim, debt: 0 });
  }
}
