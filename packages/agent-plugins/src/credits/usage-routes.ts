import { AppError, errorBodySchema } from '@palaver/contract';
import { boundedText } from '@palaver/contract/internal';
import type { TxOutbox } from '@palaver/protocol';
import { addOutboxRoutes } from '@palaver/protocol/internal';
import type { Server } from '@palaver/service-kit';
import { createSchedulerGuard } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { type CreditsDatabase, usageStatuses } from './credits-schema.ts';
import type { UsageClaims } from './usage-claims.ts';

const countsSchema = z.object({ claims: z.record(z.string(), z.int()).meta({ description: 'How many, by status.' }) });
const listQuerySchema = z.object({
  status: z.enum(usageStatuses).default('failed'),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});
const contentSchema = z.record(z.string(), z.union([z.string(), z.int()]));
const listSchema = z.object({
  claims: z.array(
    z.object({
      id: z.string(),
      claimId: z.string(),
      content: contentSchema,
      credits: z.int(),
      status: z.enum(usageStatuses),
      fault: z.string().nullable(),
      createdAt: z.string(),
    }),
  ),
});

export interface UsageRouteParts {
  claims: UsageClaims;
  outbox: TxOutbox<CreditsDatabase>;
  /** With it a scheduler may ask for the processing, in `X-Scheduler-Secret`. */
  secret: string | undefined;
}

const transactionsPath = '/claims/transactions';

/** Usage claims for operators; a scheduler may only have them processed. Repeating the request is harmless. */
export function addUsageRoutes(server: Server, { claims, outbox, secret }: UsageRouteParts): void {
  const shared = { tags: ['Claims'], security: [] };
  const refused = { 401: errorBodySchema };

  const process = {
    ...shared,
    summary: 'Submit usage as claims and read how claims were evaluated (operators, schedulers)',
    response: { 200: countsSchema, ...refused },
  };
  const onRequest = createSchedulerGuard(server.operatorGuard, secret);
  server.post('/claims/process', { onRequest, schema: process }, async () => ({ claims: await claims.process() }));

  const list = {
    ...{ ...shared, summary: 'Usage claims by status (operators)', querystring: listQuerySchema },
    response: { 200: listSchema, ...refused },
  };
  server.get('/claims', { onRequest: server.operatorGuard, schema: list }, async ({ query }) => ({
    claims: (await claims.list(query)).map(({ id, claim_id, content, credits, status, fault, created_at }) => ({
      ...{ id, claimId: claim_id, credits, status, fault },
      content: contentSchema.parse(JSON.parse(content)),
      createdAt: new Date(created_at).toISOString(),
    })),
  }));

  const retry = {
    ...{ ...shared, summary: 'Submit a failed usage claim again (operators)' },
    params: z.object({ id: boundedText(1, 200) }),
    response: { 200: z.object({ ok: z.literal(true) }), ...refused, 404: errorBodySchema },
  };
  addOutboxRoutes(server, { path: transactionsPath, outbox });
  server.post('/claims/:id/retry', { onRequest: server.operatorGuard, schema: retry }, async ({ params }) => {
    if (!(await claims.retry(params.id))) throw new AppError('NOT_FOUND', 'There is no failed claim with this id.');
    return { ok: true as const };
  });
}
