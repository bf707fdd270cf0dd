import { offsetPageQuerySchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { z } from 'zod';
import type { CreditsDatabase } from './credits-schema.ts';
import type { PaymentTerms } from './watch-payments.ts';

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

/** What users pay and where, and for operators the payments that were seen on the chain. */
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
    ...{ tags, summary: 'Payments on the chain, newest first (operators)', querystring: listQuerySchema },
    ...{ security: [], response: { 200: paymentsSchema } },
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
