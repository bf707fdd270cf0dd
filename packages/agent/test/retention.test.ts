import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { deleteExpired } from '../src/store/retention.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { delegate, startTestAgent } from './test-agent.ts';

const dayMs = 86_400_000;

describe.each(engines)('on %s', (engine) => {
  test('messages and sessions are removed once they are as old as the variables say', async () => {
    await using agent = await startTestAgent({ engine });
    const user = await agent.createUser();
    const [old, recent] = [await user.createSession(), await user.createSession()];
    for (const session of [old, recent]) await user.say(session, 'hello');
    const store = await openStore<AgentDatabase>(agent.databaseUrl);
    const before = Date.now() - 3 * dayMs;
    await store.db.updateTable('agent_session').set({ updated_at: before }).where('id', '=', old).execute();
    await store.db
      .updateTable('agent_message')
      .set({ created_at: before })
      .where('session_id', '=', recent)
      .where('type', '=', 'human')
      .execute();
    const rules = { framesMs: dayMs, sendsMs: dayMs, runsMs: dayMs, delegationsMs: 2 * dayMs };
    await deleteExpired(store, { ...rules, messagesMs: 0, sessionsMs: 0 });
    expect((await user.send('GET', '/sessions')).body.total).toBe(2);
    await deleteExpired(store, { ...rules, messagesMs: 2 * dayMs, sessionsMs: 2 * dayMs });
    await store.close();
    const { sessions } = (await user.send('GET', '/sessions')).body;
    expect(sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([recent]);
    expect(await user.messages(recent)).toMatchObject([{ type: 'ai' }]);
  });

  test('delegations and their revocations are removed some days after they expire', async () => {
    await using agent = await startTestAgent({ engine });
    const users = [await agent.createUser(), await agent.createUser()] as const;
    for (const { signer, send } of users)
      expect((await send('POST', '/delegation', { raw: await delegate(signer, agent.did) })).status).toBe(200);
    const store = await openStore<AgentDatabase>(agent.databaseUrl);
    const tables = ['agent_delegation', 'agent_known_delegation'] as const;
    for (const table of tables)
      await store.db
        .updateTable(table)
        .set({ expires_at: Date.now() - 3 * dayMs })
        .where('user_did', '=', users[0].did)
        .execute();
    await store.db
      .insertInto('agent_revocation')
      .values({ cid: 'old', expires_at: Date.now() - 3 * dayMs })
      .execute();
    const rules = { framesMs: dayMs, sendsMs: dayMs, runsMs: dayMs, messagesMs: 0, sessionsMs: 0 };
    await deleteExpired(store, { ...rules, delegationsMs: 4 * dayMs });
    expect(await store.db.selectFrom('agent_delegation').select('cid').execute()).toHaveLength(2);
    await deleteExpired(store, { ...rules, delegationsMs: 2 * dayMs });
    for (const table of tables)
      expect(await store.db.selectFrom(table).select('user_did').execute()).toEqual([{ user_did: users[1].did }]);
    expect(await store.db.selectFrom('agent_revocation').select('cid').execute()).toEqual([]);
    await store.close();
  });
});
