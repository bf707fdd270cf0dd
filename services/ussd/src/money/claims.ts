import { type GatewayClient, type OutboxRow, type TxOutbox, toSubmitClaim } from '@palaver/protocol';
import { formatCoin, readClaim, readCollection, renewContent, toClaimId } from '@palaver/protocol/internal';
import type { Logger } from '@palaver/service-kit';
import { unreadableText } from '@palaver/store/internal';
import {
  type ClaimTable,
  type Clock,
  countRows,
  insertOnce,
  sealedTables,
  type Trx,
  type UssdStore,
  type UssdTables,
} from '../store/tables.ts';
import { bookReward, bookUnclaimed } from './payouts.ts';

export interface NewClaim {
  /** What it is a claim about, such as `report:K7QX2M9PA` or `farm:planting:0f1e2d3c4b5a6978`; one claim for each. */
  source: string;
  phone: string;
  /** Where it differs from CLAIMS_COLLECTION. */
  collection?: string;
  /** What the evaluator reads. No names and no phone numbers. */
  content: Record<string, unknown>;
  now: number;
}

export interface ClaimsParts {
  store: UssdStore;
  outbox: TxOutbox<UssdTables>;
  gateway: GatewayClient;
  collection: string;
  agentDid: string;
  clock: Clock;
  logger: Logger;
}

const submittedAtOnce = 20;
const readAtOnce = 20;
/** How often the fault of a queued claim is written down again while its collection cannot be read. */
const faultMs = 60_000;

export function createClaims(parts: ClaimsParts) {
  const { store, outbox, gateway, clock, logger } = parts;
  const { db, cipher } = store;
  const open = (row: ClaimTable) => cipher.openRow(sealedTables.claim, row, { phone: unreadableText, content: '{}' });

  async function findCollection(id: string) {
    const collection = await readCollection(gateway, id);
    if (!collection.ok)
      logger.warn({ collection: id, reason: collection.message }, 'a collection of claims cannot be read');
    return collection;
  }

  async function readReward(id: string) {
    const collection = await findCollection(id);
    return collection.ok ? collection.reward : undefined;
  }

  /** A claim and its entry in the outbox change in one transaction. */
  async function submit(): Promise<void> {
    const queued = await db
      .selectFrom('ussd_claim')
      .selectAll()
      .where('status', '=', 'queued')
      .orderBy('checked_at')
      .orderBy('created_at')
      .limit(submittedAtOnce)
      .execute();
    for (const [id, rows] of Map.groupBy(queued, (row) => row.collection)) {
      const collection = await findCollection(id);
      if (!collection.ok) {
        // Claims of other collections come first from now on.
        const now = clock.now();
        await db
          .updateTable('ussd_claim')
          .set({ fault: `collection ${id}: ${collection.message}`, checked_at: now })
          .where('collection', '=', id)
          .where('status', '=', 'queued')
          .where('checked_at', '<', now - faultMs)
          .execute();
        continue;
      }
      for (const row of rows) {
        const message = toSubmitClaim({
          collectionId: id,
          claimId: row.id,
          agentDid: parts.agentDid,
          agentAddress: outbox.address,
          adminAddress: collection.admin,
        });
        await store.transaction(async (trx) => {
          await outbox.add(trx, { id: toEntryId(row.id), message }, clock.now());
          await setStatus(trx, row.id, { from: ['queued'], status: 'sending', fault: null });
        });
      }
    }
  }

  async function readEvaluations(): Promise<void> {
    const rows = await db
      .selectFrom('ussd_claim')
      .select(['id', 'collection', 'status', 'phone'])
      .where('status', 'in', ['submitted', 'approved'])
      .orderBy('checked_at')
      .limit(readAtOnce)
      .execute();
    for (const { id, collection, status, phone } of rows) {
      const claim = await readClaim(gateway, id, { collectionId: collection, agentAddress: outbox.address });
      if (!claim.ok) {
        logger.warn({ claim: id, reason: claim.message }, 'a claim cannot be read');
        if (claim.kind !== 'missing' && claim.kind !== 'invalid' && claim.kind !== 'foreign') return;
        await moveBack(id, claim.kind === 'foreign' ? claim.message : undefined);
        continue;
      }
      const next = claim.status;
      const now = clock.now();
      const paid = next !== 'paid' ? [] : (claim.amount ?? (await readReward(collection)));
      // The collection cannot be read now; a later round asks again.
      if (!paid) {
        await moveBack(id);
        continue;
      }
      const reward = next === 'paid' ? { reward: paid.map(formatCoin).join(', ') } : {};
      await book(id, async (trx) => {
        const account = await trx.selectFrom('ussd_account').select('id').where('phone', '=', phone).executeTakeFirst();
        const settled = next === 'paid' && !account ? ('unclaimed' as const) : next;
        const change = { status: settled ?? status, checked_at: now, fault: null, ...reward };
        const changed = await trx
          .updateTable('ussd_claim')
          .set(change)
          .where('id', '=', id)
          .where('status', '=', status)
          .executeTakeFirst();
        if (next !== 'paid' || changed.numUpdatedRows === 0n) return;
        await bookReward(trx, { claimId: id, accountId: account?.id, coins: paid, now });
      });
    }
  }

  async function readUnclaimed(): Promise<void> {
    const found = await db
      .selectFrom('ussd_claim as claim')
      .innerJoin('ussd_account as account', 'account.phone', 'claim.phone')
      .select(['claim.id as claimId', 'account.id as accountId'])
      .where('claim.status', '=', 'unclaimed')
      .orderBy('claim.checked_at')
      .limit(readAtOnce)
      .execute();
    for (const { claimId, accountId } of found) {
      const now = clock.now();
      await book(claimId, async (trx) => {
        const change = { from: ['unclaimed' as const], status: 'paid' as const, checked_at: now, fault: null };
        if (await setStatus(trx, claimId, change)) await bookUnclaimed(trx, { claimId, accountId, now });
      });
    }
  }

  /** A claim and its books change together; one that cannot be booked says why and holds up no other. */
  async function book(id: string, change: (trx: Trx) => Promise<void>): Promise<void> {
    await store.transaction(change).catch(async (error: unknown) => {
      logger.warn({ err: error, claim: id }, 'the evaluation of a claim cannot be booked');
      await moveBack(id, error instanceof Error ? error.message : String(error));
    });
  }

  /** The next round begins with other claims. */
  async function moveBack(id: string, fault?: string): Promise<void> {
    const change = { checked_at: clock.now(), ...(fault !== undefined && { fault: fault.slice(0, 500) }) };
    await db.updateTable('ussd_claim').set(change).where('id', '=', id).execute();
  }

  /** The claim is one and the same, so it is queued under its new id and under no other. */
  async function renew(trx: Trx, row: ClaimTable): Promise<boolean> {
    const content = renewContent(cipher.openRow(sealedTables.claim, row).content, row.id);
    const fresh = { ...cipher.openRow(sealedTables.claim, row), id: toClaimId(content), content };
    const { id, content: sealed } = cipher.sealRow(sealedTables.claim, fresh);
    const change = { id, content: sealed, status: 'queued' as const, fault: null, checked_at: 0 };
    return setStatus(trx, row.id, { from: ['failed'], ...change });
  }

  return {
    /** The claim is submitted after the caller's transaction commits. */
    async add(trx: Trx, { source, phone, collection = parts.collection, content, now }: NewClaim) {
      const text = JSON.stringify({ source, collection, ...content });
      const row: ClaimTable = {
        id: toClaimId(text),
        source,
        phone,
        collection,
        content: text,
        status: 'queued',
        reward: null,
        fault: null,
        checked_at: 0,
        created_at: now,
      };
      await insertOnce(trx, 'ussd_claim', cipher.sealRow(sealedTables.claim, row));
    },
    countSince: (trx: Trx, phone: string, since: number) =>
      countRows(trx.selectFrom('ussd_claim').where('phone', '=', cipher.token(phone)).where('created_at', '>', since)),
    async find(sources: readonly string[]) {
      if (sources.length === 0) return new Map();
      const rows = await db.selectFrom('ussd_claim').selectAll().where('source', 'in', sources).execute();
      return new Map(rows.map((row) => [row.source, open(row)]));
    },
    async process() {
      await submit();
      await outbox.step();
      await readEvaluations();
      await readUnclaimed();
      const counts = await db
        .selectFrom('ussd_claim')
        .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy('status')
        .execute();
      return Object.fromEntries(counts.map(({ status, count }) => [status, Number(count)]));
    },
    async list({ status, limit }: { status: ClaimTable['status']; limit: number }) {
      const query = store.readDb
        .selectFrom('ussd_claim')
        .selectAll()
        .where('status', '=', status)
        .orderBy('created_at');
      return (await query.limit(limit).execute()).map(open);
    },
    /** Submits under a new id where a stranger has taken the own one. False if no failed claim has the id. */
    async retry(id: string) {
      const taken = await outbox.findTakenClaim(toEntryId(id));
      return store.transaction(async (trx) => {
        const failed = trx.selectFrom('ussd_claim').selectAll().where('id', '=', id).where('status', '=', 'failed');
        const row = await failed.executeTakeFirst();
        if (!row) return false;
        if (taken) return renew(trx, row);
        const isRevived = await outbox.revive(trx, toEntryId(id));
        if (isRevived) await setStatus(trx, id, { from: ['failed'], status: 'sending' });
        return isRevived;
      });
    },
  };
}

export type Claims = ReturnType<typeof createClaims>;

const toEntryId = (claimId: string) => `claim:${claimId}`;

export async function onClaimSettled(trx: Trx, row: OutboxRow, outcome: 'included' | 'dead'): Promise<void> {
  if (!row.id.startsWith('claim:')) return;
  const status = outcome === 'included' ? 'submitted' : 'failed';
  // A retry of an older version that was killed left a claim `failed` whose entry was alive.
  await setStatus(trx, row.id.slice('claim:'.length), { from: ['sending', 'failed'], status, fault: row.fault });
}

async function setStatus(
  trx: Pick<Trx, 'updateTable'>,
  id: string,
  { from, ...change }: Partial<ClaimTable> & { from: ClaimTable['status'][] },
): Promise<boolean> {
  const update = trx.updateTable('ussd_claim').set(change).where('id', '=', id).where('status', 'in', from);
  return (await update.executeTakeFirst()).numUpdatedRows > 0n;
}
