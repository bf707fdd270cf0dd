import { openStore, type Store } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { delegate, request, startTestAgent } from './test-agent.ts';

const old = Date.now() - 3 * 86_400_000;

/** The column that says whose a row is. */
const tables = {
  agent_session: 'id',
  agent_message: 'session_id',
  agent_run: 'session_id',
  agent_delegation: 'user_did',
  palaver_audit: 'subject',
} as const;

async function listKept({ db }: Store<never>): Promise<Record<string, string[]>> {
  const kept = Object.entries(tables).map(async ([table, column]) => {
    const { rows } = await sql<{ of: string | null }>`select distinct ${sql.ref(column)} as of from ${sql.table(table)}
      where ${sql.ref(column)} is not null`.execute(db);
    return [table, rows.map(({ of }) => of).sort()];
  });
  return Object.fromEntries(await Promise.all(kept));
}

describe.concurrent.each(engines)('a running agent on %s', (engine) => {
  test('removes what is past the age set by its variables and keeps the rest', async () => {
    const env: Record<string, string> = { RETENTION_DELEGATIONS_DAYS: '4' };
    await using agent = await startTestAgent({ engine, env });
    const store = await openStore<never>(agent.databaseUrl);
    // Before the others: lines are removed from the beginning of the chain.
    await sql`insert into palaver_audit_pending (id, at, service, actor, action, subject, from_address, details)
      values ('old', ${sql.lit(old)}, 'agent', 'service', 'keys.rotated', 'old line', null, '{}')`.execute(store.db);
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    const [young, spoken, idle] = [await ana.createSession(), await ana.createSession(), await ana.createSession()];
    for (const session of [young, spoken, idle]) await ana.say(session, 'hello');
    for (const user of [ana, ben]) {
      const raw = await delegate(user.signer, agent.did);
      expect((await user.send('POST', '/delegation', { raw })).status).toBe(200);
    }
    const age = (table: string, column: string, where: ReturnType<typeof sql>) =>
      sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sql.lit(old)} where ${where}`.execute(store.db);
    const revoke = (did: string, expiresAt: number) =>
      sql`insert into agent_delegation (cid, user_did, agent_did, expires_at, sent_downstream, revoked)
        values (${did}, ${did}, ${agent.did}, ${sql.lit(expiresAt)}, 0, 1)`.execute(store.db);
    await age('agent_session', 'updated_at', sql`id = ${idle}`);
    await age('agent_message', 'created_at', sql`session_id = ${spoken}`);
    await age('agent_run', 'ended_at', sql`session_id = ${spoken}`);
    await age('agent_delegation', 'expires_at', sql`user_did = ${ben.did}`);
    await revoke('ana', Date.now());
    await revoke('ben', old);
    // Reading the log chains what is pending.
    expect((await request(`${agent.url}/audit`)).body.lines.length).toBeGreaterThan(2);
    const before = await listKept(store);
    await revoke('swept', 0);

    const keeps = async (wanted: Record<string, string[]>) => {
      await agent.restart();
      let kept = {};
      const hasSwept = async () => {
        kept = await listKept(store);
        return JSON.stringify(kept) === JSON.stringify(wanted);
      };
      await waitFor('a sweep', hasSwept).catch(() => expect(kept).toEqual(wanted));
    };
    await keeps(before);
    env.RETENTION_DELEGATIONS_DAYS = '2';
    for (const name of ['MESSAGES', 'SESSIONS', 'AUDIT']) env[`RETENTION_${name}_DAYS`] = '2';
    env.RUN_RETENTION_DAYS = '2';
    const gone = [idle, ben.did, 'old line', 'ben'];
    const left = Object.entries(before).map(([table, of]) => [table, of.filter((id) => !gone.includes(id))]);
    await keeps({ ...Object.fromEntries(left), agent_message: [young], agent_run: [young] });
    await store.close();
  });
});
