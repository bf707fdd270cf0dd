import { parseJson } from '@palaver/contract/internal';
import { createGatewayClient } from '@palaver/protocol';
import { envCoin, gatewayVariables, toGatewayAccess } from '@palaver/protocol/internal';
import { envInteger, type Logger, StartError } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { z } from 'zod';
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
  CREDITS_POLL_MS: envInteger({ min: 50, max: 600_000 }).prefault('2000').meta({
    description: 'How often new blocks are read for payments.',
    example: '1000',
  }),
};

type PaymentConfig = z.infer<z.ZodObject<typeof paymentVariables>>;

export interface RunningWatch {
  stop(): Promise<void>;
}

/** What users pay, and where; undefined if payments are booked by hand alone. */
export function toPaymentTerms(config: PaymentConfig): PaymentTerms | undefined {
  const { CREDITS_PAY_TO: address, CREDITS_PRICE: price, CREDITS_SUBSCRIPTION: subscription } = config;
  if (address === undefined) return undefined;
  if (!subscription) return { address, price, subscription: undefined };
  const { days, allowance, price: whole } = subscription;
  if (whole.denom !== price.denom || whole.amount % price.amount !== 0n) {
    throw new StartError('CREDITS_SUBSCRIPTION: its price must be a multiple of CREDITS_PRICE');
  }
  return { address, price, subscription: { days, allowance, credits: Number(whole.amount / price.amount) } };
}

export function startPaymentWatch(parts: {
  config: PaymentConfig;
  ownDids: readonly string[];
  store: Store<CreditsDatabase>;
  ledger: Ledger;
  logger: Logger;
}): RunningWatch | undefined {
  const { config, ...rest } = parts;
  const { logger } = rest;
  const terms = toPaymentTerms(config);
  if (!terms) return undefined;
  const access = toGatewayAccess(config);
  if (!access) throw new StartError('CREDITS_PAY_TO needs GATEWAY_URL: payments are read through the query gateway');
  const watch = createPaymentWatch({ ...rest, terms, gateway: createGatewayClient(access) });
  return runEvery({
    everyMs: config.CREDITS_POLL_MS,
    firstMs: 0,
    async work(setNext) {
      if (!(await watch.step())) setNext(0);
    },
    onFault: (error) => logger.warn({ err: error }, 'payments cannot be booked now'),
  });
}
