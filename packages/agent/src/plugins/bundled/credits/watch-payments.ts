import { type GatewayClient, readLatestBlock, readTransfers, type Transfer } from '@palaver/protocol';
import type { Logger } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import type { Ledger, SubscriptionTerms } from './credits-ledger.ts';
import type { CreditsDatabase } from './credits-schema.ts';

export interface PaymentTerms {
  /** Where payments go. */
  address: string;
  /** Of one credit. */
  price: { denom: string; amount: bigint };
  subscription: SubscriptionTerms | undefined;
}

export interface PaymentWatchParts {
  terms: PaymentTerms;
  gateway: GatewayClient;
  /** The agent's own DIDs: older clients name them, and no user, in the memo of a contract. */
  ownDids: readonly string[];
  store: Store<CreditsDatabase>;
  ledger: Ledger;
  logger: Logger;
}

/** Blocks that are asked for at once. */
const blocksAtOnce = 500;
/** Nodes find a transaction a little later than they include it, so the last blocks are read again. */
const overlap = 5;

/**
 * Books what is paid to the agent's address, block by block. A payment is written down with what it books, by transaction
 * and transfer, so that reading a block twice, on several instances or after a crash, books nothing twice.
 */
export function createPaymentWatch({ terms, gateway, ownDids, store, ledger, logger }: PaymentWatchParts) {
  const { address } = terms;

  async function readCursor(latest: number): Promise<number> {
    const query = store.db.selectFrom('agent_credit_cursor').select('height').where('address', '=', address);
    const found = await query.executeTakeFirst();
    if (found) return found.height;
    await store.db
      .insertInto('agent_credit_cursor')
      .values({ address, height: latest })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return (await query.executeTakeFirstOrThrow()).height;
  }

  async function book(transfer: Transfer): Promise<void> {
    const { credits, rest } = toCredits(transfer.amount, terms.price);
    const memo = parseMemo(transfer.memo);
    const did = await findUser(memo);
    const isMatched = did !== undefined && credits > 0;
    const row = {
      ...{ hash: transfer.hash, transfer_index: transfer.index, height: transfer.height, sender: transfer.sender },
      ...{ memo: transfer.memo, amount: transfer.amount, credits: isMatched ? credits : 0, rest },
      ...{ user_did: did ?? null, status: isMatched ? ('booked' as const) : ('unmatched' as const) },
      created_at: Date.now(),
    };
    const keep = async (trx: Pick<typeof store.db, 'insertInto'>) => {
      const kept = await trx
        .insertInto('agent_credit_payment')
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return Boolean(kept.numInsertedOrUpdatedRows);
    };
    const id = `${transfer.hash}:${transfer.index}`;
    const { claimIds, isSubscription } = memo;
    const subscription = isSubscription ? terms.subscription : undefined;
    const isNew = isMatched
      ? await ledger.bookPayment({ did, id, credits, claimIds, subscription }, keep)
      : await keep(store.db);
    if (!isNew) return;
    const details = { hash: transfer.hash, amount: transfer.amount, height: transfer.height };
    if (isMatched) logger.info({ ...details, credits }, 'a payment is booked');
    else logger.warn(details, 'a payment names no user or claim, or another coin; GET /credits/payments lists it');
  }

  async function findUser({ claimIds, did }: Memo): Promise<string | undefined> {
    if (did !== undefined) return ownDids.includes(did) ? undefined : did;
    if (claimIds.length === 0) return undefined;
    const claims = await store.db
      .selectFrom('agent_credit_claim')
      .select(['id', 'user_did'])
      .where('id', 'in', claimIds)
      .execute();
    return claimIds.map((id) => claims.find((claim) => claim.id === id)?.user_did).find((found) => found !== undefined);
  }

  return {
    /** Reads the blocks since the last time; false where there are more to read. */
    async step(): Promise<boolean> {
      const latest = await readLatestBlock(gateway);
      if (!latest.ok) {
        logger.warn({ reason: latest.message, kind: latest.kind }, 'payments cannot be read from the query gateway');
        return true;
      }
      const cursor = await readCursor(latest.height);
      const to = Math.min(latest.height, cursor + blocksAtOnce);
      const read = await readTransfers(gateway, { address, from: Math.max(1, cursor - overlap), to });
      if (!read.ok) {
        logger.warn({ reason: read.message, kind: read.kind }, 'payments cannot be read from the query gateway');
        return true;
      }
      for (const transfer of read.transfers) await book(transfer);
      await store.db
        .updateTable('agent_credit_cursor')
        .set({ height: to })
        .where('address', '=', address)
        .where('height', '<', to)
        .execute();
      return to === latest.height;
    },
  };
}

export interface Memo {
  claimIds: string[];
  did: string | undefined;
  isSubscription: boolean;
}

/** `claims ID ID`, `contract DID`, `subscribe DID`, `top-up DID`, or a claim's id alone. */
export function parseMemo(memo: string): Memo {
  const [first = '', ...others] = memo.trim().split(/[\s,]+/);
  const words = first === 'claims' || first === 'claim' ? others : [first];
  const isDid = ['contract', 'subscribe', 'top-up'].includes(first) && (others[0] ?? '').startsWith('did:');
  return {
    claimIds: words.filter((word) => /^[0-9a-f-]{36}$/.test(word)).slice(0, 20),
    did: isDid ? others[0] : undefined,
    isSubscription: isDid && first !== 'top-up',
  };
}

/** The credits that an amount of coins buys, and what is left over of the price's coin. */
export function toCredits(
  amount: string,
  { denom, amount: price }: PaymentTerms['price'],
): { credits: number; rest: string } {
  const coin = amount.split(',').find((text) => text.replace(/^\d+/, '') === denom);
  const paid = BigInt(coin?.slice(0, -denom.length) ?? 0);
  const credits = paid / price;
  // Beyond what a ledger of integers holds nobody pays.
  return credits > BigInt(Number.MAX_SAFE_INTEGER)
    ? { credits: 0, rest: String(paid) }
    : { credits: Number(credits), rest: String(paid % price) };
}
