import type { Store } from '@palaver/store';
import type { Seal } from '../auth/seal.ts';
import type { AgentDatabase } from './schema.ts';

export interface StoredDelegation {
  token: string;
  cid: string;
  /** Unix seconds. */
  expiration: number;
}

export type DelegationStore = ReturnType<typeof createDelegationStore>;

/** Users' delegations to this agent, sealed, and the tokens they took back. */
export function createDelegationStore(
  store: Store<AgentDatabase>,
  { agentDid, seal }: { agentDid: string; seal: Seal },
) {
  const { db, prepare } = store;
  const findRow = prepare((query, own: { userDid: string; now: number }) =>
    query
      .selectFrom('agent_delegation')
      .selectAll()
      .where('user_did', '=', own.userDid)
      .where('agent_did', '=', agentDid)
      .where('expires_at', '>', own.now),
  );
  const findRevocation = prepare((query, token: { cid: string; now: number }) =>
    query.selectFrom('agent_revocation').select('cid').where('cid', '=', token.cid).where('expires_at', '>', token.now),
  );
  const owner = (userDid: string) => `${userDid}\n${agentDid}`;

  return {
    async put(userDid: string, { token, cid, expiration }: StoredDelegation): Promise<void> {
      const row = {
        cid,
        sealed: seal.seal(token, owner(userDid)),
        expires_at: expiration * 1000,
        stored_at: Date.now(),
      };
      await db
        .insertInto('agent_delegation')
        .values({ user_did: userDid, agent_did: agentDid, ...row })
        .onConflict((conflict) => conflict.columns(['user_did', 'agent_did']).doUpdateSet(row))
        .execute();
    },

    /** The delegation in force; one that has expired counts as none. */
    async find(userDid: string): Promise<StoredDelegation | undefined> {
      const [row] = (await findRow({ userDid, now: Date.now() })).rows;
      const token = row && seal.open(row.sealed, owner(userDid));
      return row && token ? { token, cid: row.cid, expiration: row.expires_at / 1000 } : undefined;
    },

    /** Forgets the stored delegation and refuses its token from now on; gives its CID. */
    async revoke(userDid: string): Promise<string | undefined> {
      return await store.transaction(async (trx) => {
        const [row] = (await findRow({ userDid, now: 0 }, trx)).rows;
        if (!row) return undefined;
        await trx
          .insertInto('agent_revocation')
          .values({ cid: row.cid, expires_at: row.expires_at })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        await trx
          .deleteFrom('agent_delegation')
          .where('user_did', '=', userDid)
          .where('agent_did', '=', agentDid)
          .execute();
        await trx
          .deleteFrom('agent_revocation')
          .where('expires_at', '<', Date.now() - revocationSlackMs)
          .execute();
        return row.cid;
      });
    },

    async isRevoked(cids: readonly string[]): Promise<boolean> {
      for (const cid of cids)
        if ((await findRevocation({ cid, now: Date.now() - revocationSlackMs })).rows.length > 0) return true;
      return false;
    },
  };
}

/** Tokens are taken for a while after their expiry, by the clock skew; so long their revocation counts too. */
const revocationSlackMs = 60_000;
