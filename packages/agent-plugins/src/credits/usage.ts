import { agentVariables, type PluginContext, removeSettled } from '@palaver/agent';
import { AppError, errorBodySchema } from '@palaver/contract';
import { boundedText } from '@palaver/contract/internal';
import { createTxOutbox } from '@palaver/protocol';
import {
  addOutboxRoutes,
  claimsVariables,
  envCollection,
  envSigningKey,
  loadSigningAccount,
  signingVariables,
} from '@palaver/protocol/internal';
import { envInteger, type Server } from '@palaver/service-kit';
import { createSchedulerGuard, runEvery } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { openGateway, settledVariables } from '../plugin-parts.ts';
import type { Ledger } from './credits-ledger.ts';
import { type CreditsDatabase, usageStatuses } from './credits-schema.ts';
import type { paymentVariables } from './payments.ts';
import { createUsageClaims, onUsageSettled } from './usage-claims.ts';

export const usageVariables = {
  ...signingVariables,
  NODE_ENV: agentVariables.NODE_ENV,
  DATA_DIR: agentVariables.DATA_DIR,
  USAGE_COLLECTION: envCollection().optional().meta({
    description:
      'Collection of the protocol in which paid answers become claims. If not set, no usage becomes a claim.',
    example: '4',
  }),
  USAGE_PERIOD_SECONDS: envInteger({ min: 1, max: 31 * 86_400 })
    .prefault('86400')
    .meta({ description: 'Seconds that one claim covers of what a user paid for.' }),
  USAGE_SIGNING_KEY: envSigningKey(),
  ...claimsVariables('/claims/process'),
  ...settledVariables,
};

/** Failed claims stay until an operator has looked at them. */
const retention = [
  { table: 'agent_usage_claim', time: 'checked_at', statuses: ['paid', 'rejected'] },
  { table: 'agent_usage_tx', time: 'created_at', statuses: ['included'] },
];

type UsageConfig = z.infer<z.ZodObject<typeof usageVariables & typeof paymentVariables>>;

export async function startUsageClaims(ctx: PluginContext<UsageConfig, CreditsDatabase>, ledger: Ledger) {
  const { config, store, logger } = ctx;
  const { USAGE_COLLECTION: collection, CLAIMS_INTERVAL_SECONDS: seconds } = config;
  if (collection === undefined) return undefined;
  const gateway = openGateway(config, 'USAGE_COLLECTION');
  const account = await loadSigningAccount(config, { service: 'usage', key: config.USAGE_SIGNING_KEY, logger });
  const outbox = createTxOutbox<CreditsDatabase>({
    store,
    service: 'agent_usage',
    gateway,
    account,
    logger,
    onSettled: onUsageSettled,
  });
  const claims = createUsageClaims({
    store,
    ledger,
    outbox,
    gateway,
    collection,
    logger,
    periodMs: config.USAGE_PERIOD_SECONDS * 1000,
    agentDid: ctx.oracle.did,
  });
  const { stop } = runEvery({
    everyMs: seconds * 1000,
    work: claims.process,
    onFault: (error) => logger.warn({ err: error }, 'usage claims cannot be processed now'),
  });
  const removing = removeSettled({ store, logger, days: config.RETENTION_CLAIMS_DAYS, rules: retention });
  return { claims, outbox, stop: () => Promise.all([stop(), removing.stop()]) };
}

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

type RunningClaims = NonNullable<Awaited<ReturnType<typeof startUsageClaims>>>;

/** Usage claims for operators; a scheduler may only have them processed. Repeating the request is harmless. */
export function addUsageRoutes(server: Server, { claims, outbox }: RunningClaims, secret: string | undefined): void {
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
    ...shared,
    summary: 'Usage claims by status (operators)',
    querystring: listQuerySchema,
    response: { 200: listSchema, ...refused },
  };
  server.get('/claims', { onRequest: server.operatorGuard, schema: list }, async ({ query }) => ({
    claims: (await claims.list(query)).map(({ id, claim_id, content, credits, status, fault, created_at }) => ({
      id,
      claimId: claim_id,
      credits,
      status,
      fault,
      content: contentSchema.parse(JSON.parse(content)),
      createdAt: new Date(created_at).toISOString(),
    })),
  }));

  const retry = {
    ...shared,
    summary: 'Submit a failed usage claim again (operators)',
    params: z.object({ id: boundedText(1, 200) }),
    response: { 200: z.object({ ok: z.literal(true) }), ...refused, 404: errorBodySchema },
  };
  addOutboxRoutes(server, { path: '/claims/transactions', outbox });
  server.post('/claims/:id/retry', { onRequest: server.operatorGuard, schema: retry }, async ({ params }) => {
    if (!(await claims.retry(params.id))) throw new AppError('NOT_FOUND', 'There is no failed claim with this id.');
    return { ok: true as const };
  });
}
