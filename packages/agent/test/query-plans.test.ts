// No statement of a request or of regular work reads a table that grows from end to end. SQLite plans without counting rows.
import { openStore } from '@palaver/store';
import { engines, fillTables, listScans, recordStatements, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { delegate, startTestAgent } from './test-agent.ts';

/** Tables that stay small, and why. */
const small: Record<string, string> = {
  agent_instance: 'a row for each instance',
  agent_lease: 'a row for each kind of regular work',
  agent_credit_cursor: 'a row for each address',
};

const values: Record<string, string> = {
  user_did: "'u' || n % 100",
  'agent_action_sender.user_did': "'u' || n",
  'agent_credit_subscription.user_did': "'u' || n",
  status: "'complete'",
  active: 'null',
  day: `${Math.floor(Date.now() / 86_400_000)}`,
  body: "'{}'",
  words: "'r' || n % 100 || ' w' || n % 100",
};
const isFilled = (table: string) => table.startsWith('agent_') && !(table in small);

const env = {
  CREDITS_ENABLED: 'true',
  TASKS_POLL_MS: '100',
  OFFLINE_WORDS_PER_SECOND: '1000',
  RETENTION_MESSAGES_DAYS: '1',
  RETENTION_SESSIONS_DAYS: '1',
  RETENTION_FILES_DAYS: '1',
};

test.each(engines)('%s: an index serves every statement on a table that grows', async (engine) => {
  await using agent = await startTestAgent({ engine, env });
  if (engine === 'postgres') await fillTables(agent.databaseUrl, { isFilled, values, rows: 5_000 });
  using recorded = recordStatements();
  await agent.restart();
  const user = await agent.createUser();
  const session = await user.createSession();
  const send = async (method: string, path: string, body?: unknown) => {
    const reply = await user.send(method, path, body);
    expect(reply.status, path).toBeLessThan(300);
    return reply.body;
  };
  const remember = 'remember that my dog is called Simba';
  await user.say(session, remember);
  await user.say(session, '/tool schedule_task {"prompt":"feed the goats","in":"60 minutes"}');
  const other = await send('POST', '/sessions', { title: 'goats', metadata: { note: 'goats' } });
  await send('PATCH', `/sessions/${other.sessionId}`, { title: 'sheep' });
  await send('POST', '/delegation', { raw: await delegate(user.signer, agent.did) });
  const file = await send('POST', '/files?filename=goats', 'goats');
  const memory = await send('POST', '/memory', { text: 'goats eat grass' });
  await send('POST', '/credits/top-up', { did: user.did, amount: 5, idempotencyKey: 'k' });
  const running = await user.stream(session, '/long 50000');
  await send('POST', '/messages/abort', { sessionId: session });
  const run = running.headers.get('x-run-id');
  const page = await send('GET', `/sessions/${session}/messages?limit=2`);
  const [task] = (await send('GET', '/tasks')).tasks;
  await send('POST', `/sessions/${session}/fork`, { messageId: page.messages[0].id });
  for (const path of [
    ...['/sessions', `/messages/${session}`, `/sessions/${session}/messages?before=${page.prevCursor}`, `/runs/${run}`],
    ...[`/sessions/${session}/run`, '/memory', '/memory?query=dog', '/credits', `/credits/accounts/${user.did}`],
    ...['/delegation', '/me/export', `/files/${file.fileId}`, '/user-preferences', '/tasks/failed'],
  ])
    await send('GET', path);
  await user.send('POST', '/a2a', { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }, { 'a2a-version': '1.0' });
  for (const path of [`/tasks/${task.id}`, `/memory/${memory.id}`, `/files/${file.fileId}`, '/delegation'])
    await send('DELETE', path);
  await send('DELETE', `/sessions/${session}`);
  await send('DELETE', '/me');
  const texts = () => [...recorded.statements.keys()];
  await waitFor(
    'retention',
    async () => texts().some((text) => text.startsWith('delete from "agent_session" as old')),
    20_000,
  );
  const findScans = async () =>
    (await listScans(agent.databaseUrl, recorded.statements)).filter(({ table }) => isFilled(table));
  expect(await findScans()).toEqual([]);

  const store = await openStore(agent.databaseUrl);
  await sql`drop index agent_send_by_time`.execute(store.db);
  await store.close();
  expect(await findScans()).toContainEqual(expect.objectContaining({ table: 'agent_send' }));
});
