import { createHash } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import { changePieces } from '../read-pieces.ts';
import type { Store } from '../store.ts';
import type { AuditTables } from './audit-tables.ts';

export type ChainedRow = AuditTables['palaver_audit'];

/** Where the chain ends. Kept outside the database, it shows lines that were removed from the end. */
export interface AuditHead {
  seq: number;
  hash: string;
}

const chained = 500;

/** The hash of a line: over everything it says and the hash of the line before. */
export function hashLine(row: Omit<ChainedRow, 'hash'>): string {
  const { previous, seq, at, service, actor, action, subject, from_address, details } = row;
  const said = [previous, seq, at, service, actor, action, subject, from_address, details];
  return createHash('sha256').update(JSON.stringify(said)).digest('hex');
}

/** Takes the chain for this transaction: one instance at a time may lengthen or shorten it. */
export async function lockState(trx: Transaction<AuditTables>, engine: Store<unknown>['engine']) {
  const query = trx.selectFrom('palaver_audit_state').selectAll();
  return (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirstOrThrow();
}

/** Moves pending lines into the chain, oldest first; returns the new head, or nothing when there were none. */
export async function chainPending(
  store: Pick<Store<AuditTables>, 'transaction' | 'engine' | 'db'>,
): Promise<AuditHead | undefined> {
  let head: AuditHead | undefined;
  const chainSome = (limit: number) =>
    store.transaction(
      async (trx) => {
        const state = await lockState(trx, store.engine);
        const pending = await trx
          .selectFrom('palaver_audit_pending')
          .selectAll()
          .orderBy('at')
          .orderBy('id')
          .limit(limit)
          .execute();
        if (pending.length === 0) return 0;
        let [seq, previous] = [state.head_seq, state.head_hash];
        const rows = pending.map(({ id: _, ...said }) => {
          seq++;
          const row = { ...said, seq, previous };
          previous = hashLine(row);
          return { ...row, hash: previous };
        });
        await trx.insertInto('palaver_audit').values(rows).execute();
        const ids = pending.map(({ id }) => id);
        await trx.deleteFrom('palaver_audit_pending').where('id', 'in', ids).execute();
        await trx.updateTable('palaver_audit_state').set({ head_seq: seq, head_hash: previous }).execute();
        head = { seq, hash: previous };
        return pending.length;
      },
      // Each statement must see what the instance before has committed, once its lock is free.
      { isolation: 'read committed' },
    );
  // Without a lock, which every line that is read would otherwise wait for.
  if (await hasPending(store.db)) await changePieces(chainSome, { size: chained });
  return head;
}

async function hasPending(db: Kysely<AuditTables>): Promise<boolean> {
  const found = await db.selectFrom('palaver_audit_pending').select(sql`1`.as('one')).limit(1).execute();
  return found.length > 0;
}

const size = 1_000;

/**
 * Removes the oldest lines as far as they are older than `before`. The new beginning is written into the chain itself by
 * the line that `toRow` makes, so that a beginning moved by anyone else is found.
 */
export async function pruneAudit(
  store: Pick<Store<AuditTables>, 'transaction' | 'engine'>,
  before: number,
  toRow: (details: { seq: number; hash: string }) => AuditTables['palaver_audit_pending'],
): Promise<number> {
  let removed = 0;
  const removeSome = async (limit: number) => {
    const count = await store.transaction(
      async (trx) => {
        const { floor_seq } = await lockState(trx, store.engine);
        const rows = await trx
          .selectFrom('palaver_audit')
          .select(['seq', 'hash', 'at'])
          .where('seq', '>', floor_seq)
          .orderBy('seq')
          .limit(limit)
          .execute();
        const kept = rows.findIndex(({ at }) => at >= before);
        const old = kept === -1 ? rows : rows.slice(0, kept);
        const last = old.at(-1);
        if (!last) return 0;
        await trx.updateTable('palaver_audit_state').set({ floor_seq: last.seq, floor_hash: last.hash }).execute();
        await trx.deleteFrom('palaver_audit').where('seq', '<=', last.seq).execute();
        await trx
          .insertInto('palaver_audit_pending')
          .values(toRow({ seq: last.seq, hash: last.hash }))
          .execute();
        return old.length;
      },
      { isolation: 'read committed' },
    );
    removed += count;
    return count;
  };
  await changePieces(removeSome, { size });
  return removed;
}
