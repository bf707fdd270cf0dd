import type { AgentPerson } from '@palaver/agent';
import { createOutboxTables } from '@palaver/protocol';
import { type Migration, type PersonalData, personalTables, type SealedTable } from '@palaver/store';
import { sql } from 'kysely';

/** Time over which a user's orders are limited. */
export const dayMs = 24 * 3_600_000;

export interface ActionTable {
  /** The run and its tool call: one row for each call. */
  id: string;
  /** A keyed hash of it once the user was erased. */
  user_did: string;
  kind: 'claim' | 'send';
  /** JSON of what was ordered. */
  details: string;
  /** Of coins that are sent: in the smallest unit, as digits. */
  amount: string | null;
  /** The invocation with the user's delegation as its proof, sealed; its CID is the memo of the transaction. */
  invocation: string;
  status: 'sending' | 'included' | 'failed';
  hash: string | null;
  fault: string | null;
  created_at: number;
  /** A keyed hash of the client address. */
  client: string | null;
}

export interface ActionsDatabase {
  agent_action: ActionTable;
  /** Locked while the day is read. */
  agent_action_sender: { user_did: string };
}

export const sealedActions: SealedTable = { table: 'agent_action', key: ['id'], sealed: ['details'] };

export const actionsMigrations: Migration[] = [
  {
    name: '0001',
    async up(db) {
      const statements = [
        sql`create table agent_action (
          id text primary key, user_did text not null, kind text not null, details text not null, amount text,
          invocation text not null, status text not null, hash text, fault text, created_at bigint not null, client text)`,
        sql`create index agent_action_by_user on agent_action (user_did, created_at)`,
        sql`create index agent_action_sending on agent_action (created_at) where status = 'sending'`,
        sql`create index agent_action_by_status on agent_action (status, created_at)`,
        sql`create index agent_action_by_time on agent_action (created_at, client)`,
        sql`create table agent_action_sender (user_did text primary key)`,
      ];
      for (const statement of statements) await statement.execute(db);
      await createOutboxTables(db, 'agent');
    },
  },
];

/** Nothing uses an order again once it is settled: the run that it belongs to has ended. */
export const actionsRetention = [
  { table: 'agent_action', time: 'created_at', statuses: ['included', 'failed'] },
  { table: 'agent_tx', time: 'created_at', statuses: ['included', 'dead'] },
];

const where = ({ did }: AgentPerson) => sql<boolean>`user_did = ${did}`;

/** A transaction that is on its way stays: without it, its outcome could not be looked up. */
const whereSettled = ({ did, reference }: AgentPerson) => sql<boolean>`status in ('included', 'dead')
  and id in (select 'action:' || id from agent_action where user_did in (${did}, ${reference}))`;

const tables = personalTables<AgentPerson>([
  { table: 'agent_tx', where: whereSettled },
  { table: 'agent_action', sealed: sealedActions, omit: ['invocation'], where },
  { table: 'agent_action_sender', where },
]);

export const actionsPersonalData: PersonalData<AgentPerson> = {
  ...tables,
  async erase(trx, person) {
    // The amounts of the last 24 hours stay under a keyed hash: erasing must not begin a new day of limits.
    await sql`update agent_action set user_did = ${person.reference}, details = '{}', invocation = ''
      where user_did = ${person.did} and created_at > ${Date.now() - dayMs}`.execute(trx);
    await tables.erase(trx, person);
  },
};
