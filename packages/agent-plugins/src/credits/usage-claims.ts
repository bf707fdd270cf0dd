import { randomUUID } from 'node:crypto';
import { agentVariables, type PluginContext, removeSettled } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import { boundedText } from '@palaver/contract/internal';
import { createTxOutbox, type GatewayClient, type OutboxRow, type TxOutbox, toSubmitClaim } from '@palaver/protocol';
import {
  addOutboxRoutes,
  claimsVariables,
  envCollection,
  envSigningKey,
  loadSigningAccount,
  readClaim,
  readCollection,
  renewContent,
  signingVariables,
  toClaimId,
} from '@palaver/protocol/internal';
import { envInteger, type Logger, type Server } from '@palaver/service-kit';
import { createSchedulerGuard, describeRoutes, runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { sql } from 'kysely';
import { z } from 'zod';
import { openGateway, settledVariables } from '../plugin-parts.ts';
import type { Trx } from './credits-books.ts';
import type { Ledger } from './credits-ledger.ts';
import {
  type CreditsDatabase,
  systemAccounts,
  type UsageClaimTable,
  unclaimedUsage,
  usageStatuses,
} from './credits-schema.ts';
import type { paymentVariables } from './payments.ts';

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
  const parts = { store, gateway, logger };
  const tables = { service: 'agent_usage', account, onSettled: onUsageSettled };
  const outbox = createTxOutbox<CreditsDatabase>({ ...parts, ...tables });
  const periodMs = config.USAGE_PERIOD_SECONDS * 1000;
  const claims = createUsageClaims({ ...parts, ledger, outbox, collection, periodMs, agentDid: ctx.oracle.did });
  const { stop } = runEvery({
    everyMs: seconds * 1000,
    work: claims.process,
    onFault: (error) => logger.warn({ err: error }, 'usage claims cannot be processed now'),
  });
  const removing = removeSettled({ store, logger, days: config.RETENTION_CLAIMS_DAYS, rules: retention });
  return { claims, outbox, stop: () => Promise.all([stop(), removing.stop()]) };
}

export interface UsageClaimParts {
  store: Store<CreditsDatabase>;
  ledger: Pick<Ledger, 'refund'>;
  outbox: TxOutbox<CreditsDatabase>;
  gateway: GatewayClient;
  collection: string;
  /** A claim covers what was used before the last of these periods ended. */
  periodMs: number;
  agentDid: string;
  logger: Logger;
}

const entryPrefix = 'usage:';
const usersAtOnce = 50;
const readAtOnce = 20;

/** What users paid for, as claims: one for each user and period, in sum the revenue. What the evaluator rejects is given back. */
export function createUsageClaims(parts: UsageClaimParts) {
  const { store, ledger, outbox, gateway, logger } = parts;
  const { db } = store;

  async function collect(): Promise<void> {
    const until = Math.floor(Date.now() / parts.periodMs) * parts.periodMs;
    const query = db.selectFrom('agent_credit_transaction').select('user_did').distinct();
    const users = await query.where(isUnclaimed(until)).limit(usersAtOnce).execute();
    if (users.length === 0) return;
    const collection = await readCollection(gateway, parts.collection);
    if (!collection.ok) {
      const details = { collection: parts.collection, reason: collection.message };
      return logger.warn(details, 'the collection of usage claims cannot be read');
    }
    for (const { user_did } of users)
      await store.transaction((trx) => add(trx, { did: user_did, until, admin: collection.admin }));
  }

  /** The transactions, their claim and its message for the chain change together: each is part of one claim. */
  async function add(trx: Trx, { did, until, admin }: { did: string; until: number; admin: string }): Promise<void> {
    const id = randomUUID();
    const update = trx.updateTable('agent_credit_transaction').set({ usage_claim: id }).where('user_did', '=', did);
    const taken = await update.where(isUnclaimed(until)).returning(['kind', 'created_at']).execute();
    const { sum } = await trx
      .selectFrom('agent_credit_entry as entry')
      .innerJoin('agent_credit_transaction as transaction', 'transaction.id', 'entry.transaction_id')
      .select(({ fn }) => fn.sum<number | null>('entry.amount').as('sum'))
      .where('transaction.usage_claim', '=', id)
      .where('entry.account_id', '=', systemAccounts.revenue)
      .executeTakeFirstOrThrow();
    const credits = Number(sum ?? 0);
    // Settling a claim without a debt brings no revenue.
    if (credits === 0) return;
    const times = taken.map(({ created_at }) => created_at);
    const content = JSON.stringify({
      source: `${entryPrefix}${id}`,
      collection: parts.collection,
      credits,
      messages: taken.filter(({ kind }) => kind === 'charge').length,
      from: toTime(Math.min(...times)),
      to: toTime(Math.max(...times)),
    });
    const claimId = toClaimId(content);
    const now = Date.now();
    const claim = { id, claim_id: claimId, user_did: did, content, credits, fault: null };
    const row = { ...claim, status: 'sending' as const, checked_at: 0, created_at: now };
    await trx.insertInto('agent_usage_claim').values(row).execute();
    const agent = { agentDid: parts.agentDid, agentAddress: outbox.address, adminAddress: admin };
    const message = toSubmitClaim({ collectionId: parts.collection, claimId, ...agent });
    await outbox.add(trx, { id: `${entryPrefix}${id}`, message }, now);
  }

  async function readEvaluations(): Promise<void> {
    const query = db.selectFrom('agent_usage_claim').selectAll().where('status', 'in', ['submitted', 'approved']);
    const rows = await query.orderBy('checked_at').limit(readAtOnce).execute();
    for (const row of rows) {
      const owner = { collectionId: collectionOf(row), agentAddress: outbox.address };
      const claim = await readClaim(gateway, row.claim_id, owner);
      if (!claim.ok) logger.warn({ claim: row.claim_id, reason: claim.message }, 'a usage claim cannot be read');
      if (!claim.ok && claim.kind !== 'missing' && claim.kind !== 'invalid' && claim.kind !== 'foreign') return;
      const status = (claim.ok && claim.status) || row.status;
      const fault = claim.ok ? null : claim.message;
      const keep = (trx: Pick<Trx, 'updateTable'>) => setStatus(trx, row.id, { from: row.status, status, fault });
      if (status === 'rejected') await ledger.refund(row.user_did, row, keep);
      else await keep(db);
    }
  }

  return {
    /** Submits what was used in periods that are over, and reads how submitted claims were evaluated; counts by status. */
    async process(): Promise<Record<string, number>> {
      await collect();
      await outbox.step();
      await readEvaluations();
      const counts = await db
        .selectFrom('agent_usage_claim')
        .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy('status')
        .execute();
      return Object.fromEntries(counts.map(({ status, count }) => [status, Number(count)]));
    },
    list: ({ status, limit }: { status: Status; limit: number }): Promise<UsageClaimTable[]> =>
      db
        .selectFrom('agent_usage_claim')
        .selectAll()
        .where('status', '=', status)
        .orderBy('created_at')
        .limit(limit)
        .execute(),
    /** Submits a failed claim again, under a new id where a stranger has taken its own; false if there is none of that id. */
    async retry(id: string): Promise<boolean> {
      const entry = `${entryPrefix}${id}`;
      const taken = await outbox.findTakenClaim(entry);
      return store.transaction(async (trx) => {
        const message = taken && (await renew(trx, id, taken));
        if (taken && !message) return false;
        const isRevived = await outbox.revive(trx, entry, message);
        if (isRevived) await setStatus(trx, id, { from: 'failed', status: 'sending' });
        return isRevived;
      });
    },
  };
}

type TakenClaim = NonNullable<Awaited<ReturnType<TxOutbox<CreditsDatabase>['findTakenClaim']>>>;

/** The message that submits a failed claim under a new id; undefined if it has one by now. */
async function renew(trx: Trx, id: string, taken: TakenClaim): Promise<ReturnType<typeof toSubmitClaim> | undefined> {
  const { claimId: takenId } = taken;
  const own = trx.selectFrom('agent_usage_claim').select('content').where('id', '=', id);
  const row = await own.where('claim_id', '=', takenId).where('status', '=', 'failed').executeTakeFirst();
  if (!row) return undefined;
  const content = renewContent(row.content, takenId);
  const claimId = toClaimId(content);
  const { numUpdatedRows } = await trx
    .updateTable('agent_usage_claim')
    .set({ claim_id: claimId, content })
    .where((eb) => eb.and({ id, claim_id: takenId, status: 'failed' }))
    .executeTakeFirst();
  return numUpdatedRows > 0n ? toSubmitClaim({ ...taken, claimId }) : undefined;
}

export async function onUsageSettled(trx: Trx, row: OutboxRow, outcome: 'included' | 'dead'): Promise<void> {
  const status = outcome === 'included' ? 'submitted' : 'failed';
  await setStatus(trx, row.id.slice(entryPrefix.length), { from: 'sending', status, fault: row.fault });
}

const isUnclaimed = (until: number) => sql<boolean>`${unclaimedUsage} and created_at < ${until}`;

type Status = UsageClaimTable['status'];
type Change = { from: Status; status: Status; fault?: string | null };

async function setStatus(trx: Pick<Trx, 'updateTable'>, id: string, { from, ...change }: Change): Promise<boolean> {
  const update = trx.updateTable('agent_usage_claim').set({ ...change, checked_at: Date.now() });
  const done = await update.where((eb) => eb.and({ id, status: from })).executeTakeFirst();
  return done.numUpdatedRows > 0n;
}

/** USAGE_COLLECTION may be another one by now. */
const collectionOf = ({ content }: UsageClaimTable) => contentSchema.parse(JSON.parse(content)).collection;
const contentSchema = z.object({ collection: z.string() }).catchall(z.union([z.string(), z.int()]));

const toTime = (ms: number) => new Date(ms).toISOString();

const countsSchema = z.object({ claims: z.record(z.string(), z.int()).meta({ description: 'How many, by status.' }) });
const listQuerySchema = z.object({
  status: z.enum(usageStatuses).default('failed'),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});
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
  const route = describeRoutes('Claims');
  const process = route('Submit usage as claims and read how claims were evaluated (operators, schedulers)', {
    response: { 200: countsSchema },
  });
  const scheduled = { onRequest: createSchedulerGuard(server.operatorGuard, secret), config: { refuses: [401] } };
  server.post('/claims/process', { ...scheduled, schema: process }, async () => ({ claims: await claims.process() }));

  const onRequest = server.operatorGuard;
  const list = route('Usage claims by status (operators)', {
    querystring: listQuerySchema,
    response: { 200: listSchema },
  });
  server.get('/claims', { onRequest, schema: list }, async ({ query }) => ({
    claims: (await claims.list(query)).map(({ id, claim_id: claimId, content, created_at, ...claim }) => {
      const { credits, status, fault } = claim;
      const shown = { id, claimId, credits, status, fault, createdAt: toTime(created_at) };
      return { ...shown, content: contentSchema.parse(JSON.parse(content)) };
    }),
  }));

  const retry = route('Submit a failed usage claim again (operators)', {
    params: z.object({ id: boundedText(1, 200) }),
    response: { 200: z.object({ ok: z.literal(true) }) },
  });
  addOutboxRoutes(server, { path: '/claims/transactions', outbox });
  server.post('/claims/:id/retry', { onRequest, schema: retry }, async ({ params }) => {
    if (!(await claims.retry(params.id))) throw new AppError('NOT_FOUND', 'There is no failed claim with this id.');
    return { ok: true as const };
  });
}
