import { createRecentKeys } from '@palaver/service-kit/internal';
import type { AuditActor, AuditLog, Store } from '@palaver/store';
import { encryptTables, registerSealed } from '@palaver/store/internal';
import type { OraclePlugin } from './plugins/plugin.ts';
import { agentPersonalData, toAgentPerson } from './store/personal-data.ts';
import type { AgentDatabase } from './store/schema.ts';

export interface UserDataParts {
  store: Pick<Store<AgentDatabase>, 'db' | 'transaction' | 'cipher'>;
  audit: AuditLog<AgentDatabase>;
  /** The agent's DID that users see. */
  agentDid: string;
  plugins: readonly OraclePlugin[];
  /** Ends what runs for a session that is about to be removed. */
  dropSession?(sessionId: string): void;
}

export interface AskedBy {
  actor: AuditActor;
  from: string | null;
}

export type UserData = ReturnType<typeof createUserData>;

/** Everything the agent and its plugins keep of a user: handed out, or erased. */
export function createUserData({ store, audit, agentDid, plugins, dropSession }: UserDataParts) {
  const parts = [...plugins.flatMap(({ personalData }) => personalData ?? []), agentPersonalData];
  const sealedTables = parts.flatMap(({ sealed = [] }) => sealed);
  const exported = createRecentKeys();
  const toPerson = (did: string) => toAgentPerson(did, agentDid, audit.person(did));
  return {
    /** Tables that hold rows of users. */
    tables: parts.flatMap(({ tables }) => tables),

    async export(did: string, by: AskedBy): Promise<Record<string, unknown>> {
      const subject = audit.person(did);
      const key = [by.actor, by.from, subject].join(' ');
      const data = await store.transaction(async (trx) => {
        const found: Record<string, unknown[]> = {};
        for (const part of parts) Object.assign(found, await part.collect(trx, toPerson(did), store.cipher));
        if (!exported.has(key)) await audit.record({ ...by, action: 'data.exported', subject }, trx);
        return found;
      });
      if (!exported.has(key)) exported.add(key);
      return { did, exportedAt: new Date().toISOString(), data };
    },

    /** Notes the encrypted columns of all plugins, so that `palaver keys rotate` finds those of authors' plugins too. */
    registerSealed: () => registerSealed(store, sealedTables),

    /** Encrypts what is not encrypted with the current key, while the agent runs; gives the number of rows changed. */
    async encrypt(by: AskedBy): Promise<number> {
      const rows = await encryptTables(store, sealedTables);
      await audit.record({ ...by, action: 'keys.rotated', details: { rows } });
      return rows;
    },

    async erase(did: string, by: AskedBy): Promise<void> {
      const list = (db: Pick<typeof store.db, 'selectFrom'>) =>
        db.selectFrom('agent_session').select('id').where('user_did', '=', did).execute();
      for (const { id } of await list(store.db)) dropSession?.(id);
      const erased = await store.transaction(async (trx) => {
        const sessions = await list(trx);
        for (const part of parts) await part.erase(trx, toPerson(did));
        await audit.record({ ...by, action: 'data.erased', subject: audit.person(did) }, trx);
        return sessions;
      });
      // Again: sockets may have been admitted in the meantime.
      for (const { id } of erased) dropSession?.(id);
    },
  };
}
