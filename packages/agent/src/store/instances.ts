import type { Store } from '@palaver/store';
import { createLeases, databaseTime } from '@palaver/store/internal';
import type { AgentDatabase } from './schema.ts';

export type InstanceStore = ReturnType<typeof createInstanceStore>;

/** Without a heartbeat for this long an instance counts as dead. */
export const deadAfterMs = 10_000;

/** Which instances are alive, by the database's clock alone. */
export function createInstanceStore(store: Store<AgentDatabase>) {
  const { db, prepare } = store;
  const now = databaseTime(store.engine);
  const leases = createLeases(store, 'agent_lease');
  const beat = prepare((query, p: { id: string }) =>
    query
      .insertInto('agent_instance')
      .values({ id: p.id, seen_at: now })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: now }))
      .returning('seen_at'),
  );
  async function exists(comparison: '=' | '<>', id: string): Promise<boolean> {
    const alive = db.selectFrom('agent_instance').where('seen_at', '>', (eb) => eb(now, '-', deadAfterMs));
    return (await alive.select('id').where('id', comparison, id).limit(1).execute()).length > 0;
  }
  return {
    beat: async (id: string): Promise<number> => (await beat({ id })).rows[0]?.seen_at ?? 0,

    /** Frees what a stopping instance owns: its runs and its leases pass to others without a wait. */
    async markStopped(id: string): Promise<void> {
      await db.updateTable('agent_instance').set({ seen_at: 0 }).where('id', '=', id).execute();
      await db.deleteFrom('agent_lease').where('claimed_by', '=', id).execute();
    },

    isAlive: (id: string): Promise<boolean> => exists('=', id),

    hasOthers: (id: string): Promise<boolean> => exists('<>', id),

    lease: leases.hold,
  };
}
