import { randomUUID } from 'node:crypto';
import { type GatewayClient, type OutboxRow, type TxOutbox, toSubmitClaim } from '@palaver/protocol';
import { readClaim, readCollection, renewContent, toClaimId } from '@palaver/protocol/internal';
import type { Logger } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Trx } from './credits-books.ts';
import type { Ledger } from './credits-ledger.ts';
import { type CreditsDatabase, systemAccounts, type UsageClaimTable, unclaimedUsage } from './credits-schema.ts';

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
    const users = await db
      .selectFrom('agent_credit_transaction')
      .select('user_did')
      .distinct()
      .where(isUnclaimed(until))
      .limit(usersAtOnce)
      .execute();
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
    const taken = await trx
      .updateTable('agent_credit_transaction')
      .set({ usage_claim: id })
      .where('user_did', '=', did)
      .where(isUnclaimed(until))
      .returning(['kind', 'created_at'])
      .execute();
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
    const row = { id, claim_id: claimId, user_did: did, content, credits, fault: null, checked_at: 0 };
    const now = Date.now();
    await trx
      .insertInto('agent_usage_claim')
      .values({ ...row, status: 'sending', created_at: now })
      .execute();
    const { agentDid, collection: collectionId } = parts;
    const message = toSubmitClaim({
      collectionId,
      claimId,
      agentDid,
      agentAddress: outbox.address,
      adminAddress: admin,
    });
    await outbox.add(trx, { id: `${entryPrefix}${id}`, message }, now);
  }

  async function readEvaluations(): Promise<void> {
    const rows = await db
      .selectFrom('agent_usage_claim')
      .selectAll()
      .where('status', 'in', ['submitted', 'approved'])
      .orderBy('checked_at')
      .limit(readAtOnce)
      .execute();
    for (const row of rows) {
      const owner = { collectionId: collectionOf(row), agentAddress: outbox.address };
      const claim = await readClaim(gateway, row.claim_id, owner);
      if (!claim.ok) logger.warn({ claim: row.claim_id, reason: claim.message }, 'a usage claim cannot be read');
      if (!claim.ok && claim.kind !== 'missing' && claim.kind !== 'invalid' && claim.kind !== 'foreign') return;
      const status = (claim.ok && claim.status) || row.status;
      const fault = claim.ok ? null : claim.message;
      const keep = (trx: Pick<Trx, 'updateTable'>) => setStatus(trx, row.id, { from: [row.status], status, fault });
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
    list: ({ status, limit }: { status: UsageClaimTable['status']; limit: number }): Promise<UsageClaimTable[]> =>
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
        if (isRevived) await setStatus(trx, id, { from: ['failed'], status: 'sending' });
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
    .where('id', '=', id)
    .where('claim_id', '=', takenId)
    .where('status', '=', 'failed')
    .executeTakeFirst();
  return numUpdatedRows > 0n ? toSubmitClaim({ ...taken, claimId }) : undefined;
}

/** For the outbox: what became of a claim's transaction, in the transaction that books it. */
export async function onUsageSettled(trx: Trx, row: OutboxRow, outcome: 'included' | 'dead'): Promise<void> {
  const status = outcome === 'included' ? 'submitted' : 'failed';
  await setStatus(trx, row.id.slice(entryPrefix.length), { from: ['sending'], status, fault: row.fault });
}

const isUnclaimed = (until: number) => sql<boolean>`${unclaimedUsage} and created_at < ${until}`;

async function setStatus(
  trx: Pick<Trx, 'updateTable'>,
  id: string,
  { from, ...change }: { from: UsageClaimTable['status'][]; status: UsageClaimTable['status']; fault?: string | null },
): Promise<boolean> {
  const done = await trx
    .updateTable('agent_usage_claim')
    .set({ ...change, checked_at: Date.now() })
    .where('id', '=', id)
    .where('status', 'in', from)
    .executeTakeFirst();
  return done.numUpdatedRows > 0n;
}

/** USAGE_COLLECTION may be another one by now. */
const collectionOf = ({ content }: UsageClaimTable) => contentSchema.parse(JSON.parse(content)).collection;
const contentSchema = z.looseObject({ collection: z.string() });

const toTime = (ms: number) => new Date(ms).toISOString();
