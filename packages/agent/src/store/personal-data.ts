import { type PersonalData, personalTables } from '@palaver/store';
import { type SqlBool, sql } from 'kysely';
import { sealedTables } from './schema.ts';
import { toRoomId } from './sessions.ts';

/** A user in the terms of the agent's tables. */
export interface AgentPerson {
  did: string;
  /** The user's room with this agent: memories and preferences belong to it. */
  roomId: string;
  /** A keyed hash of the DID: what may stay of a user who was erased. */
  reference: string;
}

export function toAgentPerson(did: string, agentDid: string, reference: string): AgentPerson {
  return { did, roomId: toRoomId(did, agentDid), reference };
}

const ofUser = ({ did }: AgentPerson) => sql<SqlBool>`user_did = ${did}`;
const ofSessions = ({ did }: AgentPerson) =>
  sql<SqlBool>`session_id in (select id from agent_session where user_did = ${did})`;
const ofRuns = ({ did }: AgentPerson) => sql<SqlBool>`run_id in (select id from agent_run where user_did = ${did})`;

const tables = personalTables<AgentPerson>([
  { table: 'agent_message', sealed: sealedTables.message, where: ofSessions },
  { table: 'agent_replaced', where: ofSessions },
  { table: 'agent_summary', sealed: sealedTables.summary, where: ofSessions },
  { table: 'agent_frame', sealed: sealedTables.frame, where: ofRuns },
  { table: 'agent_step', sealed: sealedTables.step, where: ofRuns },
  { table: 'agent_approval', sealed: sealedTables.approval, omit: ['signed'], where: ofUser },
  { table: 'agent_send', omit: ['body_hash'], where: ofUser },
  { table: 'agent_run', sealed: sealedTables.run, where: ofUser },
  { table: 'agent_session', sealed: sealedTables.session, where: ofUser },
  { table: 'agent_delegation', omit: ['sealed', 'capabilities'], where: ofUser },
]);

export const agentPersonalData: PersonalData<AgentPerson> = {
  ...tables,
  async erase(trx, person) {
    // Their delegations stay refused, under a keyed hash of their issuer: anyone may name any CID.
    await sql`insert into agent_delegation
        (cid, user_did, agent_did, expires_at, stored_at, sent_downstream, revoked)
      select cid, ${person.reference}, agent_did, expires_at, stored_at, sent_downstream, 1 from agent_delegation
      where user_did = ${person.did} on conflict do nothing`.execute(trx);
    await tables.erase(trx, person);
  },
};
