// SQLite plans without counting rows, so the tables may be empty. No statement of a request reads a table that grows from end to end.
import { listScans, recordStatements } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { delegate, startTestAgent } from './test-agent.ts';

/** Tables that stay small, and why. */
const small: Record<string, string> = {
  agent_instance: 'a row for each instance',
  agent_lease: 'a row for each kind of regular work',
  agent_credit_cursor: 'a row for each address',
};

test('SQLite: an index serves every statement on a table that grows', async () => {
  await using agent = await startTestAgent({
    engine: 'sqlite',
    env: { CREDITS_ENABLED: 'true', TASKS_POLL_MS: '100' },
  });
  using recorded = recordStatements();
  await agent.restart();
  const user = await agent.createUser();
  const session = await user.createSession();
  await user.say(session, 'remember that my dog is called Simba');
  await user.say(session, '/tool schedule_task {"prompt":"feed the goats","in":"60 minutes"}');
  await user.send('POST', '/sessions', { title: 'goats', metadata: { note: 'goats' } });
  const [first] = await user.messages(session);
  expect((await user.send('POST', `/sessions/${session}/fork`, { messageId: first.id })).status).toBe(201);
  await user.send('POST', '/delegation', { raw: await delegate(user.signer, agent.did) });
  await user.send('POST', '/files?filename=goats', 'goats');
  for (const path of [
    ...[
      '/sessions',
      `/sessions/${session}`,
      `/messages/${session}`,
      '/memory',
      '/memory?query=dog',
      '/tasks',
      '/credits',
    ],
    ...['/delegation', '/me/export', '/files', '/approvals', '/preferences'],
  ])
    expect((await user.send('GET', path)).status, path).toBeLessThan(500);
  await user.send('DELETE', `/sessions/${session}`);
  await user.send('DELETE', '/me');
  const scans = await listScans(agent.databaseUrl, recorded.statements);
  const grown = scans.filter(({ table }) => table.startsWith('agent_') && !(table in small));
  expect(grown).toEqual([]);
});
