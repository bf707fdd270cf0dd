import type { Store } from '@palaver/store';
import { databaseTime } from './database-time.ts';
import type { AgentDatabase } from './schema.ts';

export type InstanceStore = ReturnType<typeof createInstanceStore>;

/** Without a heartbeat for this long an instance counts as dead. */
export const deadAfterMs = 10_000;

/** Which instances are alive, by the database's clock alone. */
export function createInstanceStore({ db, engine }: Store<AgentDatabase>) {
  const now = databaseTime(engine);
  return {
    /** Gives the database's time. */
    async beat(id: string): Promise<number> {
      const row = await db
        .insertInto('agent_instance')
        .values({ id, seen_at: now })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: now }))
        .returning('seen_at')
        .executeTakeFirstOrThrow();
      return row.seen_at;
    },

    /** Frees what a stopping instance owns: its runs and its leases pass to others without a wait. */
    async markStopped(id: string): Promise<void> {
      await db.updateTable('agent_instance').set({ seen_at: 0 }).where('id', '=', id).execute();
      await db.deleteFrom('agent_lease').where('holder', '=', id).execute();
    },

    async isAlive(id: string): Promise<boolean> {
      const rows = await db
        .selectFrom('agent_instance')
        .select('id')
        .where('id', '=', id)
        .where('seen_at', '>', (eb) => eb(now, '-', deadAfterMs))
        .execute();
      return rows.length > 0;
    },

    /** Whether any other instance is alive. */
    async hasOthers(id: string): Promise<boolean> {
      const rows = await db
        .selectFrom('agent_instance')
        .select('id')
        .where('id', '<>', id)
        .where('seen_at', '>', (eb) => eb(now, '-', deadAfterMs))
        .limit(1)
        .execute();
      return rows.length > 0;
    },

    /** True if this instance holds the lease for the next `ms`: one instance at a time does what it is for. */
    async lease(name: string, holder: string, ms: number): Promise<boolean> {
      const rows = await db
        .insertInto('agent_lease')
        .values((eb) => ({ name, holder, until: eb(now, '+', ms) }))
        .onConflict((conflict) =>
          conflict
            .column('name')
            .doUpdateSet((eb) => ({ holder, until: eb(now, '+', ms) }))
            .where((eb) => eb.or([eb('agent_lease.until', '<', now), eb('agent_lease.holder', '=', holder)])),
        )
        .returning('name')
        .execute();
      return rows.length > 0;
    },
  };
}
