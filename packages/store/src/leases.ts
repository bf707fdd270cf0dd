import type { Kysely } from 'kysely';
import { databaseTime } from './database-clock.ts';
import type { Engine } from './engine.ts';
import type { PrepareQuery } from './prepare-query.ts';

export interface LeaseColumns {
  id: string;
  claimed_by: string | null;
  /** Until then nobody else takes it, by the database's clock. */
  lease_until: number;
}

export function createLeases<Row extends LeaseColumns>(
  store: { db: unknown; engine: Engine; prepare: unknown },
  table: string,
) {
  const db = store.db as Kysely<Record<string, LeaseColumns>>;
  const prepare = store.prepare as PrepareQuery<Record<string, LeaseColumns>>;
  const now = databaseTime(store.engine);
  const held = (id: string, holder: string) =>
    db.updateTable(table).where('id', '=', id).where('claimed_by', '=', holder);
  const hold = prepare((query, p: { id: string; holder: string; ms: number }) =>
    query
      .insertInto(table)
      .values((eb) => ({ id: p.id, claimed_by: p.holder, lease_until: eb(now, '+', p.ms) }))
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet((eb) => ({ claimed_by: p.holder, lease_until: eb(now, '+', p.ms) }))
          .where((eb) => eb.or([eb(`${table}.lease_until`, '<=', now), eb(`${table}.claimed_by`, '=', p.holder)])),
      )
      .returning('id'),
  );

  return {
    /** Takes and changes a row that is still like `from`; false if another holder has it. The same holder may ask again. */
    async take(
      id: string,
      holder: string,
      { ms, from, set = {} }: { ms: number; from: Partial<Row>; set?: Partial<Row> },
    ): Promise<boolean> {
      const { numUpdatedRows } = await db
        .updateTable(table)
        .set((eb) => ({ ...set, claimed_by: holder, lease_until: eb(now, '+', ms) }))
        .where('id', '=', id)
        .where((eb) => {
          const isFree = eb.and([eb('lease_until', '<=', now), eb.and(from as Partial<LeaseColumns>)]);
          return eb.or([eb('claimed_by', '=', holder), isFree]);
        })
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    /** Takes a row that is created if it is missing: for work that has no row of its own. */
    hold: async (id: string, holder: string, ms: number): Promise<boolean> =>
      (await hold({ id, holder, ms })).rows.length > 0,

    async renew(id: string, holder: string, ms: number): Promise<void> {
      await held(id, holder)
        .set((eb) => ({ lease_until: eb(now, '+', ms) }))
        .execute();
    },

    // Gives a row back with `set`, free after `afterMs`; does nothing if it differs from `from` or was lost.
    async end(
      id: string,
      holder: string,
      { set = {}, from = {}, afterMs = 0 }: { set?: Partial<Row>; from?: Partial<Row>; afterMs?: number } = {},
    ): Promise<void> {
      await held(id, holder)
        .where((eb) => eb.and(from as Partial<LeaseColumns>))
        .set((eb) => ({ ...set, claimed_by: null, lease_until: afterMs === 0 ? 0 : eb(now, '+', afterMs) }))
        .execute();
    },
  };
}
