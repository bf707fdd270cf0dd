import { fileURLToPath } from 'node:url';
import { openStore } from '@palaver/store';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { readPaid } from './bank-plugin.ts';
import { createAgentInstances } from './start-agent-process.ts';
import { createTestUser, type TestUser } from './test-agent.ts';

const program = fileURLToPath(new URL('./tasks-agent.ts', import.meta.url));
const names = ['ana', 'ben', 'cai', 'dan', 'eve', 'fay'];

interface TaskTable {
  agent_task: { next_run_at: number; lease_until: number; claimed_by: string | null };
}

test('tasks that are due run exactly once through a crash and a rolling deploy', async () => {
  await using dir = await createTempDir();
  const paidFile = `${dir.path}/paid`;
  await using agent = await createAgentInstances('postgres', { PAID_FILE: paidFile, TASKS_POLL_MS: '100' }, program);
  const [one, two] = [await agent.start(), await agent.start()];
  let { url } = one;
  const people: { user: TestUser; sessionId: string }[] = [];
  for (const name of names) {
    const user = await createTestUser({ url: () => url, audience: agent.did });
    const sessionId = await user.createSession();
    expect((await user.say(sessionId, `pay ${name}`)).body.message.toolCalls).toMatchObject([{ status: 'done' }]);
    people.push({ user, sessionId });
  }
  const store = await openStore<TaskTable>(agent.databaseUrl);
  const tasks = () => store.db.selectFrom('agent_task').selectAll().execute();
  const isClaimed = async () => (await tasks()).every(({ claimed_by }) => claimed_by !== null);

  await store.db.updateTable('agent_task').set({ next_run_at: Date.now() }).execute();
  await waitFor('the tasks to run', isClaimed);
  one.process.kill('SIGKILL');
  await one.process.exited;
  // Tasks and runs are taken over separately: the tasks first, while the runs still belong to the process that died.
  await store.db.updateTable('agent_task').set({ lease_until: 0 }).execute();
  const three = await agent.start();
  url = three.url;
  two.process.kill('SIGTERM');
  expect(await two.process.exited).toBe(0);
  const ofAll = () => Promise.all(people.map(async ({ user, sessionId }) => user.messages(sessionId)));
  await waitFor('the end of all tasks', async () => {
    const lists = await Promise.all(people.map(async ({ user }) => (await user.send('GET', '/tasks')).body.total));
    return lists.every((total) => total === 0);
  });
  await store.close();
  const paid = readPaid(paidFile);
  for (const [index, messages] of (await ofAll()).entries()) {
    // Two of when it was scheduled, two of when it was due.
    expect(messages.map(({ type }: { type: string }) => type)).toEqual(['human', 'ai', 'human', 'ai']);
    const times = paid.filter((line) => line === `${names[index]} 5`).length;
    // A crash within the tool itself ends the run as failed: nobody knows whether the tool has paid, so it is not repeated.
    if (messages[3].status === 'complete') expect([names[index], times]).toEqual([names[index], 1]);
    else expect(times).toBeLessThanOrEqual(1);
  }
  expect(paid.length).toBeGreaterThan(names.length / 2);
});
