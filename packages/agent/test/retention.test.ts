import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { deleteExpired } from '../src/store/retention.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { startTestAgent } from './test-agent.ts';

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
    const rules = { framesMs: dayMs, sendsMs: dayMs, runsMs: dayMs };
    await deleteExpired(store, { ...rules, messagesMs: 0, sessionsMs: 0 });
    expect((await user.send('GET', '/sessions')).body.total).toBe(2);
    await deleteExpired(store, { ...rules, messagesMs: 2 * dayMs, sessionsMs: 2 * dayMs });
    await store.close();
    const { sessions } = (await user.send('GET', '/sessions')).body;
    expect(sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([recent]);
    expect(await user.messages(recent)).toMatchObject([{ type: 'ai' }]);
  });
});
