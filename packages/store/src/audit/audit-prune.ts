import { changePieces } from '../read-pieces.ts';
import type { Store } from '../store.ts';
import { lockState } from './audit-chain.ts';
import type { AuditTables } from './audit-tables.ts';

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
