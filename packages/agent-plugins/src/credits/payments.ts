import type { PluginContext } from '@palaver/agent';
import { creditAccountParamsSchema, offsetPageQuerySchema, parseJson } from '@palaver/contract/internal';
import {
  type GatewayClient,
  type GatewayFault,
  readLatestBlock,
  readTransfers,
  type Transfer,
} from '@palaver/protocol';
import { envCoin, gatewayVariables } from '@palaver/protocol/internal';
import { envInteger, type Logger, type Server, StartError } from '@palaver/service-kit';
import { describeRoutes, runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { fromDidKey } from '@palaver/ucan/internal';
import { z } from 'zod';
import { openGateway } from '../plugin-parts.ts';
import type { Ledger, SubscriptionTerms } from './credits-ledger.ts';
import type { CreditsDatabase } from './credits-schema.ts';

const subscriptionSchema = z.strictObject({
  days: z.int().min(1).max(3_660),
  allowance: z.int().min(1).max(1_000_000_000),
  price: envCoin(),
});

export const paymentVariables = {
  ...gatewayVariables,
  CREDITS_PAY_TO: z
    .string()
    .regex(/^ixo1[a-z0-9]{38,58}$/, 'expected an address such as ixo1…')
    .optional()
    .meta({
      description:
        'Address that users pay to. If set, payments are read from the chain through GATEWAY_URL and booked.',
      example: 'ixo1xf7u84m7fs39crd95d5mdzn0uwgnsqzh54y74e',
    }),
  CREDITS_PRICE: envCoin().prefault('1000uixo').meta({ description: 'Price of one credit on the chain.' }),
  CREDITS_SUBSCRIPTION: z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined || text === '') return undefined;
      const parsed = subscriptionSchema.safeParse(parseJson(text));
      if (parsed.success) return parsed.data;
      context.addIssue('expected JSON of days, allowance (in credits) and price');
      return z.NEVER;
    })
    .meta({
      description:
        'Subscription that a payment with the memo `subscribe DID` opens: its days, allowance in credits, and price.',
      example: '{"days":30,"allowance":20000,"price":"10000000uixo"}',
    }),
  CREDITS_POLL_MS: envInteger({ min: 50, max: 600_000 })
    .prefault('2000')
    .meta({ description: 'How often new blocks are read for payments.' }),
};

type PaymentConfig = z.infer<z.ZodObject<typeof paymentVariables>>;

/** Undefined if payments are booked by hand alone. */
export function toPaymentTerms(config: PaymentConfig): PaymentTerms | undefined {
  const { CREDITS_PAY_TO: address, CREDITS_PRICE: price, CREDITS_SUBSCRIPTION: subscription } = config;
  if (address === undefined) return undefined;
  if (!subscription) return { address, price, subscription: undefined };
  const { days, allowance, price: whole } = subscription;
  if (whole.denom !== price.denom || whole.amount % price.amount !== 0n)
    throw new StartError('CREDITS_SUBSCRIPTION: its price must be a multiple of CREDITS_PRICE');
  return { address, price, subscription: { days, allowance, credits: Number(whole.amount / price.amount) } };
}

export function startPaymentWatch(ctx: PluginContext<PaymentConfig, CreditsDatabase>, ledger: Ledger) {
  const { config, store, logger, oracle } = ctx;
  const terms = toPaymentTerms(config);
  if (!terms) return undefined;
  const gateway = openGateway(config, 'CREDITS_PAY_TO', 'payments are');
  const watch = createPaymentWatch({ store, ledger, logger, ownDids: [oracle.did, oracle.keyDid], terms, gateway });
  return runEvery({
    everyMs: config.CREDITS_POLL_MS,
    firstMs: 0,
    async work(setNext) {
      if (!(await watch.step())) setNext(0);
    },
    onFault: (error) => logger.warn({ err: error }, 'payments cannot be booked now'),
  });
}

interface PaymentTerms {
  address: string;
  price: { denom: string; amount: bigint };
  subscription: SubscriptionTerms | undefined;
}

interface PaymentWatchParts {
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
    const insertion = store.db.insertInto('agent_credit_cursor').values({ address: name, height: first });
    await insertion.onConflict((conflict) => conflict.doNothing()).execute();
    return (await query.executeTakeFirstOrThrow()).height;
  }

  async function book(transfer: Transfer): Promise<void> {
    const { credits, rest } = toCredits(transfer.amount, terms.price);
    const memo = parseMemo(transfer.memo);
    const did = await findUser(memo);
    const isMatched = did !== undefined && credits > 0;
    const isDust = did === undefined && isBelow(transfer.amount, terms.price);
    const status = isMatched ? ('booked' as const) : isDust ? ('dust' as const) : ('unmatched' as const);
    const { index: transfer_index, ...paid } = transfer;
    const row = {
      ...paid,
      transfer_index,
      credits: isMatched ? credits : 0,
      rest,
      user_did: did ?? null,
      status,
      created_at: Date.now(),
    };
    const keep = (trx: Inserting) => keepRow(trx, row);
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
    const own = store.db.selectFrom('agent_credit_claim').select(['id', 'user_did']);
    const claims = await own.where('id', 'in', claimIds).execute();
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
    const update = store.db.updateTable('agent_credit_cursor').set({ height: to });
    await update.where('address', '=', name).where('height', '<', to).execute();
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

type Inserting = Pick<Store<CreditsDatabase>['db'], 'insertInto'>;

async function keepRow(db: Inserting, row: CreditsDatabase['agent_credit_payment']): Promise<boolean> {
  const insertion = db.insertInto('agent_credit_payment').values(row);
  const kept = await insertion.onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
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

export function toCredits(amount: string, { denom, amount: price }: PaymentTerms['price']) {
  const coin = amount.split(',').find((text) => text.replace(/^\d+/, '') === denom);
  const paid = BigInt(coin?.slice(0, -denom.length) ?? 0);
  const credits = paid / price;
  // Beyond what a ledger of integers holds nobody pays.
  return credits > BigInt(Number.MAX_SAFE_INTEGER)
    ? { credits: 0, rest: String(paid) }
    : { credits: Number(credits), rest: String(paid % price) };
}

const statusSchema = z.enum(['booked', 'unmatched', 'dust']);
const coinSchema = z.object({ denom: z.string(), amount: z.string() });
const termsSchema = z.object({
  address: z.string(),
  price: coinSchema.meta({ description: 'Of one credit.' }),
  subscription: z.object({ days: z.int(), allowance: z.int(), price: coinSchema }).optional(),
});
const paymentsSchema = z.object({
  payments: z.array(
    z.object({
      hash: z.string(),
      transferIndex: z.int(),
      height: z.int(),
      sender: z.string(),
      memo: z.string(),
      amount: z.string(),
      credits: z.int(),
      rest: z.string(),
      did: z.string().nullable(),
      status: statusSchema,
    }),
  ),
});

export function addPaymentRoutes(server: Server, { db }: Store<CreditsDatabase>, terms: PaymentTerms | undefined) {
  if (!terms) return;
  const { address, subscription, price } = terms;
  const toCoin = (count: number) => ({ denom: price.denom, amount: String(price.amount * BigInt(count)) });
  const { days = 0, allowance = 0, credits = 0 } = subscription ?? {};
  const shown = {
    address,
    price: toCoin(1),
    ...(subscription && { subscription: { days, allowance, price: toCoin(credits) } }),
  };
  const route = describeRoutes('Credits');
  const own = route('What credit costs, and where to pay', { response: { 200: termsSchema } });
  server.get('/credits/terms', { schema: own }, async () => shown);
  const list = route('Payments on the chain, newest first (operators)', {
    querystring: offsetPageQuerySchema.extend({ status: statusSchema.default('unmatched') }),
    response: { 200: paymentsSchema },
  });
  server.get('/credits/payments', { onRequest: server.operatorGuard, schema: list }, async ({ query }) => {
    const rows = await db
      .selectFrom('agent_credit_payment')
      .selectAll()
      .where('status', '=', query.status)
      .orderBy('created_at', 'desc')
      .orderBy('hash')
      .orderBy('transfer_index')
      .limit(query.limit)
      .offset(query.offset)
      .execute();
    return {
      payments: rows.map(({ transfer_index: transferIndex, user_did: did, ...row }) => ({
        ...row,
        transferIndex,
        did,
      })),
    };
  });
}
