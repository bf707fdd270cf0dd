import { defineOraclePlugin, identityOf, type OraclePlugin, type PluginContext, tablesOf } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import {
  creditAccountParamsSchema,
  creditAccountSchema,
  creditClaimParamsSchema,
  creditTopUpSchema,
} from '@palaver/contract/internal';
import { envBoolean, envInteger, type Server } from '@palaver/service-kit';
import { describeRoutes, toAuditBy } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createClientHash, toManifest } from '../plugin-parts.ts';
import { createLedger, type Ledger, type OnBooked } from './credits-ledger.ts';
import { createSpendingLimit, paymentRequired, priceVariables, toCost } from './credits-prices.ts';
import { type CreditsDatabase, creditsMigrations, creditsPersonalData } from './credits-schema.ts';
import { addPaymentRoutes, paymentVariables, startPaymentWatch, toPaymentTerms } from './payments.ts';
import { addUsageRoutes, startUsageClaims, usageVariables } from './usage-claims.ts';

const credits = (fallback: string, min = 0) => envInteger({ min, max: 1_000_000_000 }).prefault(fallback);

const configSchema = z.object({
  CREDITS_ENABLED: envBoolean().prefault('false').meta({ description: 'Whether answers cost credit.' }),
  CREDITS_FREE: credits('1000').meta({ description: 'Credits a new user starts with. 0 gives none.' }),
  CREDITS_FREE_USERS_PER_ADDRESS: credits('10').meta({
    description: 'How many new users of one client address (an IPv6 /64 counts as one) get CREDITS_FREE in a day.',
  }),
  CREDITS_RESERVATION: credits('50', 1).meta({ description: 'Credits set aside for a message until it is answered.' }),
  CREDITS_CLAIM: credits('1000', 1).meta({
    description: 'Credits a claim asks the user to buy once theirs are used up.',
  }),
  ...priceVariables,
  ...paymentVariables,
  ...usageVariables,
});

export function createCreditsPlugin(): OraclePlugin {
  let ledger: Ledger;
  let watch: ReturnType<typeof startPaymentWatch>;
  let usage: Awaited<ReturnType<typeof startUsageClaims>>;

  return defineOraclePlugin({
    name: 'credits',
    version: '1.0.0',
    manifest: toManifest('Credits', 'Answers cost credit.', { category: 'billing' }),
    configSchema,
    autoDetect: (env) => envBoolean().safeParse(env.CREDITS_ENABLED).data === true,
    autoDetectHint: 'set CREDITS_ENABLED=true',
    tables: tablesOf<CreditsDatabase>(),
    migrations: creditsMigrations,
    personalData: creditsPersonalData,
    async setup(ctx) {
      const { config, deriveKey, audit } = ctx;
      ledger = createLedger(ctx.store, {
        free: config.CREDITS_FREE,
        freePerClient: config.CREDITS_FREE_USERS_PER_ADDRESS,
        hashClient: createClientHash(deriveKey),
        referenceOf: audit.person,
        reservation: config.CREDITS_RESERVATION,
        claim: config.CREDITS_CLAIM,
      });
      watch = startPaymentWatch(ctx, ledger);
      usage = await startUsageClaims(ctx, ledger);
    },
    async teardown() {
      await Promise.all([watch?.stop(), usage?.stop()]);
    },
    getMiddlewares: ({ config }) => [
      createSpendingLimit(config.CREDITS_PRICES, ledger.raise),
      {
        async beforeSend({ userDid, sendId, client }) {
          const refused = await ledger.reserve(userDid, sendId, client);
          if (refused) throw paymentRequired(refused.claimIds);
        },
        onTurnEnd: ({ userDid, sendId, usageByModel }) =>
          ledger.charge(userDid, sendId, toCost(config.CREDITS_PRICES, usageByModel)),
      },
    ],
    getRoutes: (ctx) => (server) => {
      addCreditRoutes(server, ledger, ctx);
      addPaymentRoutes(server, ctx.store, toPaymentTerms(ctx.config));
      if (usage) addUsageRoutes(server, usage, ctx.config.CLAIMS_SCHEDULER_SECRET);
    },
    // It also takes the secret of a scheduler.
    getAuthExcludedRoutes: () => [{ path: '/claims/process', method: 'POST' }],
  });
}

type RouteContext = Pick<PluginContext<unknown, CreditsDatabase>, 'audit' | 'clientKey'>;

function addCreditRoutes(server: Server, ledger: Ledger, { audit, clientKey }: RouteContext): void {
  const recordBy =
    (request: FastifyRequest, reference: Record<string, string>): OnBooked =>
    (trx, { did, amount }) => {
      const event = {
        action: 'credits.booked' as const,
        subject: audit.person(did),
        details: { amount, ...reference },
      };
      return audit.record({ ...toAuditBy(request), ...event }, trx);
    };

  const route = describeRoutes('Credits');
  const response = { 200: creditAccountSchema };
  const own = route('Your credit', { response });
  server.get('/credits', { schema: own }, async (request) => ledger.visit(identityOf(request).did, clientKey(request)));

  const onRequest = server.operatorGuard;
  const account = route("A user's credit (operators)", { params: creditAccountParamsSchema, response });
  server.get('/credits/accounts/:did', { onRequest, schema: account }, async ({ params }) =>
    ledger.account(params.did),
  );

  const topUp = route('Book a payment (operators)', { body: creditTopUpSchema, response });
  const config = { audited: true };
  server.post('/credits/top-up', { onRequest, config: { ...config, refuses: [409] }, schema: topUp }, async (request) =>
    ledger.topUp(request.body, recordBy(request, { payment: request.body.idempotencyKey })),
  );

  const settle = route('Book the payment of a claim (operators)', { params: creditClaimParamsSchema, response });
  server.post('/credits/claims/:claimId/settle', { onRequest, config, schema: settle }, async (request) => {
    const { claimId } = request.params;
    const account = await ledger.settleClaim(claimId, recordBy(request, { claim: claimId }));
    if (!account) throw new AppError('NOT_FOUND', 'There is no such claim.');
    return account;
  });
}
