import { creditAccountParamsSchema } from '@palaver/contract/internal';
import {
  type GatewayClient,
  type GatewayFault,
  readLatestBlock,
  readTransfers,
  type Transfer,
} from '@palaver/protocol';
import type { Logger } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { fromDidKey } from '@palaver/ucan/internal';
import type { Ledger, SubscriptionTerms } from './credits-ledger.ts';
import type { CreditsDatabase } from './credits-schema.ts';

export interface PaymentTerms {
  address: string;
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

const blocksAtOnce = 500;
/** Nodes find a transaction a little later than they include it, so the last blocks are read again. */
const overlap = 5;
/** The index of a restarted node may be far behind: every block is read again after about five minutes, an hour and a day. */
const laterLooks = [50, 600, 15_000];
const maxTries = 5;

/** Books what is paid to the agent's address, block by block. Transaction and transfer name a payment: it is booked once. */
export function createPaymentWatch({ terms, gateway, ownDids, store, ledger, logger }: PaymentWatchParts) {
  const { address } = terms;
  const tries = new Map<string, number>();

  async function readCursor(name: string, first: number): Promise<number> {
    const query = store.db.selectFrom('agent_credit_cursor').select('height').where('address', '=', name);
    const found = await query.executeTakeFirst();
    if (found) return found.height;
    await store.db
      .insertInto('agent_credit_cursor')
      .values({ address: name, height: first })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return (await query.executeTakeFirstOrThrow()).height;
  }

  async function book(transfer: Transfer): Promise<void> {
    const { credits, rest } = toCredits(transfer.amount, terms.price);
    const memo = parseMemo(transfer.memo);
    const did = await findUser(memo);
    const isMatched = did !== undefined && credits > 0;
    const isDust = did === undefined && isBelow(transfer.amount, terms.price);
    const status = isMatched ? ('booked' as const) : isDust ? ('dust' as const) : ('unmatched' as const);
    const row = {
      hash: transfer.hash,
      transfer_index: transfer.index,
      height: transfer.height,
      sender: transfer.sender,
      memo: transfer.memo,
      amount: transfer.amount,
      credits: isMatched ? credits : 0,
      rest,
      user_did: did ?? null,
      status,
      created_at: Date.now(),
    };
    const keep = (trx: Pick<typeof store.db, 'insertInto'>) => keepRow(trx, row);
    const id = toId(transfer);
    const { claimIds, isSubscription } = memo;
    const subscription = isSubscription ? terms.subscription : undefined;
    const isNew = isMatched
      ? await ledger.bookPayment({ did, id, credits, claimIds, subscription }, keep)
      : await keep(store.db);
    if (!isNew) return;
    const details = { hash: transfer.hash, amount: transfer.amount, height: transfer.height };
    if (isMatched) logger.info({ ...details, credits }, 'a payment is booked');
    else if (isDust) logger.debug(details, 'a payment of less than one credit names nobody');
    else logger.warn(details, 'a payment names no user or claim, or another coin; GET /credits/payments lists it');
  }

  /** Books a payment; false if it has to be tried again. One that fails every time is written down without its memo. */
  async function tryToBook(transfer: Transfer): Promise<boolean> {
    const id = toId(transfer);
    const { hash, index, height, sender, amount } = transfer;
    try {
      await book(transfer);
    } catch (error) {
      const count = (tries.get(id) ?? 0) + 1;
      tries.set(id, count);
      logger.error({ err: error, hash, index, count }, 'a payment cannot be booked');
      if (count < maxTries) return false;
      const nobody = { memo: '', credits: 0, rest: '0', user_did: null, status: 'unmatched' as const };
      const row = { hash, transfer_index: index, height, sender, amount, ...nobody, created_at: Date.now() };
      await keepRow(store.db, row);
      logger.error({ hash, index }, 'a payment is left to operators; GET /credits/payments lists it');
    }
    tries.delete(id);
    return true;
  }

  async function findUser({ claimIds, did }: ReturnType<typeof parseMemo>): Promise<string | undefined> {
    if (did !== undefined) return ownDids.includes(did) ? undefined : did;
    if (claimIds.length === 0) return undefined;
    const claims = await store.db
      .selectFrom('agent_credit_claim')
      .select(['id', 'user_did'])
      .where('id', 'in', claimIds)
      .execute();
    return claimIds.map((id) => claims.find((claim) => claim.id === id)?.user_did).find((found) => found !== undefined);
  }

  /** Reads blocks from the cursor of this name on; 'more' if it has not come to `end`. */
  async function readBlocks(name: string, { cursor, from, end }: { cursor: number; from: number; end: number }) {
    const to = Math.min(end, cursor + blocksAtOnce);
    const read = await readTransfers(gateway, { address, from: Math.max(1, from), to });
    if (!read.ok) return report(read);
    let isBooked = true;
    for (const transfer of read.transfers) isBooked = (await tryToBook(transfer)) && isBooked;
    // The same blocks are read again: what is booked stays booked once.
    if (!isBooked) return 'fault';
    await store.db
      .updateTable('agent_credit_cursor')
      .set({ height: to })
      .where('address', '=', name)
      .where('height', '<', to)
      .execute();
    return to === end ? 'done' : 'more';
  }

  function report({ message: reason, kind }: GatewayFault): 'fault' {
    logger.warn({ reason, kind }, 'payments cannot be read from the query gateway');
    return 'fault';
  }

  async function lookAgain(latest: number, first: number): Promise<boolean> {
    let isDone = true;
    for (const blocks of laterLooks) {
      const name = `${address} -${blocks}`;
      const cursor = await readCursor(name, first);
      const end = latest - blocks;
      // A tenth of the way at a time: a look costs a search, however few blocks it is for.
      if (end - cursor < blocks / 10) continue;
      isDone = (await readBlocks(name, { cursor, from: cursor, end })) !== 'more' && isDone;
    }
    return isDone;
  }

  return {
    /** Reads the blocks since the last time; false if there are more to read. */
    async step(): Promise<boolean> {
      const latest = await readLatestBlock(gateway);
      if (!latest.ok) {
        report(latest);
        return true;
      }
      const cursor = await readCursor(address, latest.height);
      const read = await readBlocks(address, { cursor, from: cursor - overlap, end: latest.height });
      return (await lookAgain(latest.height, cursor)) && read !== 'more';
    },
  };
}

const toId = ({ hash, index }: Transfer) => `${hash}:${index}`;

async function keepRow(
  db: Pick<Store<CreditsDatabase>['db'], 'insertInto'>,
  row: CreditsDatabase['agent_credit_payment'],
): Promise<boolean> {
  const kept = await db
    .insertInto('agent_credit_payment')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return Boolean(kept.numInsertedOrUpdatedRows);
}

/** `claims ID ID`, `contract DID`, `subscribe DID`, `top-up DID`, or a claim's id alone. */
export function parseMemo(memo: string) {
  const [first = '', ...others] = memo.trim().split(/[\s,]+/);
  const words = first === 'claims' || first === 'claim' ? others : [first];
  const isDid = ['contract', 'subscribe', 'top-up'].includes(first) && isUserDid(others[0] ?? '');
  return {
    claimIds: words.filter((word) => /^[0-9a-f-]{36}$/.test(word)).slice(0, 20),
    did: isDid ? others[0] : undefined,
    isSubscription: isDid && first !== 'top-up',
  };
}

/** Whether this is a DID that a user can have: credit of any other could not be used. */
function isUserDid(did: string): boolean {
  if (!creditAccountParamsSchema.safeParse({ did }).success) return false;
  return !did.startsWith('did:key:') || fromDidKey(did) !== null;
}

function isBelow(amount: string, { denom, amount: price }: PaymentTerms['price']): boolean {
  const [, digits = '', coin] = /^(\d+)(.+)$/.exec(amount) ?? [];
  return coin === denom && BigInt(digits) < price;
}

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
