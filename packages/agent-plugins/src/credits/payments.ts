import type { PluginContext } from '@palaver/agent';
import { offsetPageQuerySchema, parseJson } from '@palaver/contract/internal';
import { envCoin, gatewayVariables } from '@palaver/protocol/internal';
import { envInteger, type Server, StartError } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { z } from 'zod';
import { openGateway } from '../plugin-parts.ts';
import type { Ledger } from './credits-ledger.ts';
import type { CreditsDatabase } from './credits-schema.ts';
import { createPaymentWatch, type PaymentTerms } from './watch-payments.ts';

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
  CREDITS_PRICE: envCoin().prefault('1000uixo').meta({
    description: 'Price of one credit on the chain.',
    example: '1000uixo',
  }),
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
const listQuerySchema = offsetPageQuerySchema.extend({ status: statusSchema.default('unmatched') });

export function addPaymentRoutes(
  server: Server,
  { store, terms }: { store: Store<CreditsDatabase>; terms: PaymentTerms | undefined },
): void {
  if (!terms) return;
  const { address, subscription, price } = terms;
  const toCoin = (count: bigint) => ({ denom: price.denom, amount: String(price.amount * count) });
  const shown = {
    address,
    price: toCoin(1n),
    ...(subscription && {
      subscription: {
        days: subscription.days,
        allowance: subscription.allowance,
        price: toCoin(BigInt(subscription.credits)),
      },
    }),
  };
  const tags = ['Credits'];
  const ownSchema = { tags, summary: 'What credit costs, and where to pay', response: { 200: termsSchema } };
  server.get('/credits/terms', { schema: ownSchema }, async () => shown);
  const listSchema = {
    tags,
    summary: 'Payments on the chain, newest first (operators)',
    querystring: listQuerySchema,
    security: [],
    response: { 200: paymentsSchema },
  };
  server.get('/credits/payments', { onRequest: server.operatorGuard, schema: listSchema }, async ({ query }) => {
    const rows = await store.db
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
      payments: rows.map(({ transfer_index: transferIndex, user_did: did, created_at: _, ...row }) => ({
        ...row,
        transferIndex,
        did,
      })),
    };
  });
}
