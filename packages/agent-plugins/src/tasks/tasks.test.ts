import { createScriptedModel, createTestRuntime, type ScriptedStep, tool } from '@palaver/agent';
import type { Message } from '@palaver/contract';
import { scheduledMessagePrefix, type TaskList, taskListSchema } from '@palaver/contract/internal';
import { openStore, type Store } from '@palaver/store';
import { createTempDir, createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createBank, readPaid } from '../../../agent/test/bank-plugin.ts';
import { startTestAgent, type TestAgent, type TestUser } from '../../../agent/test/test-agent.ts';
import { createTestPlugin } from '../../../agent/test/test-plugin.ts';
import { maxActiveTasks } from './tasks-store.ts';

const water = tool({
  inputSchema: z.object({ prompt: z.string(), cron: z.string() }),
  execute: (wanted, rt) => rt.schedule(wanted),
});

describe.each(engines)('in the service on %s', (engine) => {
  // biome-ignore lint/suspicious/noExplicitAny: the tables are the plugin's own.
  let store: Store<any>;
  let agent: TestAgent;
  let ana: TestUser;
  let ben: TestUser;

  beforeAll(async () => {
    agent = await startTestAgent({ engine, tools: { water }, env: { TASKS_POLL_MS: '50' } });
    store = await openStore(agent.databaseUrl);
    [ana, ben] = [await agent.createUser(), await agent.createUser()];
  });
  afterAll(async () => {
    await store.close();
    await agent[Symbol.asyncDispose]();
  });

  const listOf = async (user: TestUser): Promise<TaskList> =>
    taskListSchema.parse((await user.send('GET', '/tasks')).body);
  const makeDue = (id: string) =>
    store.db.updateTable('agent_task').set({ next_run_at: Date.now() }).where('id', '=', id).execute();

  test('a reminder outlives a restart and lands as a message in its session', async () => {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    const { body } = await user.say(sessionId, 'remind me to feed the goats in 10 minutes', {
      timezone: 'Africa/Nairobi',
    });
    expect(body.message.content).toMatch(/^Scheduled; the next time is .* \(Africa\/Nairobi\)\.$/);
    const [task] = (await listOf(user)).tasks;
    expect(task).toMatchObject({ prompt: 'feed the goats', sessionId, timezone: 'Africa/Nairobi', status: 'active' });
    await agent.restart();
    await makeDue(task?.id ?? '');
    const messages = await waitFor('the reminder', async () => {
      const all = await user.messages(sessionId);
      return all.length === 4 ? all : undefined;
    });
    expect(messages.slice(2)).toMatchObject([
      { type: 'human', content: '[Scheduled task] feed the goats', requestId: `task-${task?.id}` },
      { type: 'ai', content: 'It is time: feed the goats', status: 'complete' },
    ]);
    await waitFor('the task to end', async () => (await listOf(user)).total === 0);
  });

  test('a page schedules what a user has chosen in it', async () => {
    const sessionId = await ana.createSession();
    const post = (user: TestUser, body: object) => user.send('POST', '/tasks', { sessionId, prompt: 'rest', ...body });
    const { status, body: task } = await post(ana, { cron: '0 9 * * 1', timezone: 'Africa/Nairobi' });
    expect([status, task.schedule, task.timezone]).toEqual([201, 'cron 0 9 * * 1', 'Africa/Nairobi']);
    expect((await listOf(ana)).tasks).toEqual([task]);
    expect(await post(ana, { in: 'a while' })).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(await post(ana, { in: '2 days', sessionId: 'none' })).toMatchObject({ status: 404 });
    expect(await post(ben, { in: '2 days' })).toMatchObject({ status: 404 });
    await ana.send('DELETE', `/tasks/${task.id}`);
  });

  test("a tool schedules what it decides, in its user's session and within the limits of a request", async () => {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    const schedule = async (args: object) =>
      (await user.say(sessionId, `/tool water ${JSON.stringify({ prompt: 'water the beans', ...args })}`, zone)).body
        .message.toolCalls[0];
    const zone = { timezone: 'Africa/Nairobi' };
    const { output } = await schedule({ cron: '0 6 * * *' });
    expect(output).toMatchObject({ prompt: 'water the beans', schedule: 'cron 0 6 * * *', sessionId, ...zone });
    expect((await listOf(user)).tasks).toEqual([output]);
    expect(await schedule({ cron: '* * * * *' })).toMatchObject({ error: expect.stringContaining('five minutes') });
    expect(await schedule({ prompt: 'x'.repeat(2_001), cron: '0 6 * * *' })).toMatchObject({
      error: expect.stringContaining('prompt'),
    });
  });

  test('a regular task runs and is set for its next time', async () => {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    await user.say(sessionId, 'every Monday at 9 remind me to rest', { timezone: 'Africa/Nairobi' });
    const [task] = (await listOf(user)).tasks;
    expect(task).toMatchObject({ schedule: 'cron 0 9 * * 1', nextRunAt: expect.stringMatching(/T06:00:00.000Z$/) });
    await makeDue(task?.id ?? '');
    await waitFor('its run', async () => (await user.messages(sessionId)).length === 4);
    const again = await waitFor('its next time', async () => {
      const [next] = (await listOf(user)).tasks;
      return next?.lastRunAt ? next : undefined;
    });
    expect(again.nextRunAt).toBe(task?.nextRunAt);
  });

  test('tasks are listed and cancelled by their own user alone', async () => {
    const sessionId = await ana.createSession();
    const say = async (text: string) => (await ana.say(sessionId, text)).body.message;
    await say('remind me to call Ben in 2 hours');
    const [task] = (await listOf(ana)).tasks;
    expect((await listOf(ben)).tasks).toEqual([]);
    expect((await say('what are my tasks?')).content).toContain(`- call Ben (at ${task?.nextRunAt}; ${task?.id})`);
    for (const path of [task?.id, 'nothing'])
      expect((await ben.send('DELETE', `/tasks/${path}`)).body).toMatchObject({ statusCode: 404, code: 'NOT_FOUND' });
    expect((await say(`cancel task ${task?.id}`)).content).toBe('Cancelled.');
    expect((await say(`cancel task ${task?.id}`)).toolCalls[0].status).toBe('error');
    await say('remind me to rest in 2 hours');
    const [other] = (await listOf(ana)).tasks;
    expect((await ana.send('DELETE', `/tasks/${other?.id}`)).body).toEqual({ ok: true });
    expect((await listOf(ana)).total).toBe(0);
  });

  test('operators see tasks that were given up, not what they say, and have them run again', async () => {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    await user.say(sessionId, 'remind me to rest in 2 hours');
    const [task] = (await listOf(user)).tasks;
    const given = { status: 'failed' as const, next_run_at: null, failures: 10, ended_at: Date.now() };
    await store.db
      .updateTable('agent_task')
      .set(given)
      .where('id', '=', task?.id ?? '')
      .execute();
    const listFailed = async () => (await fetch(`${agent.url}/tasks/failed`)).json() as Promise<{ tasks: object[] }>;
    const { tasks } = await listFailed();
    expect(tasks).toMatchObject([{ id: task?.id, user: expect.stringMatching(/^person:/), failures: 10 }]);
    expect(JSON.stringify(tasks)).not.toContain('rest');
    const retry = () => fetch(`${agent.url}/tasks/${task?.id}/retry`, { method: 'POST' });
    expect((await retry()).status).toBe(200);
    expect((await retry()).status).toBe(404);
    await waitFor('its run', async () => (await user.messages(sessionId)).length === 4);
    expect(await listFailed()).toEqual({ tasks: [] });
  });

  test('a session takes its tasks with it', async () => {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    await user.say(sessionId, 'remind me to rest in 2 hours');
    expect((await listOf(user)).total).toBe(1);
    await user.send('DELETE', `/sessions/${sessionId}`);
    expect((await listOf(user)).total).toBe(0);
  });

  test('a scheduled prompt does not schedule itself again', async () => {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    const args = { prompt: '/tool schedule_task {"prompt":"again","in":"1 minute"}', in: '1 minute' };
    await user.say(sessionId, `/tool schedule_task ${JSON.stringify(args)}`);
    const [task] = (await listOf(user)).tasks;
    await makeDue(task?.id ?? '');
    await waitFor('its run', async () => (await user.messages(sessionId)).length === 4);
    await waitFor('its end', async () => (await listOf(user)).total === 0);
  });

  test('faults of a schedule go to the model in words; there is a limit to how many', async () => {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    const schedule = async (args: object) =>
      (await user.say(sessionId, `/tool schedule_task ${JSON.stringify({ prompt: 'x', ...args })}`)).body.message
        .toolCalls[0];
    expect(await schedule({})).toMatchObject({ error: expect.stringContaining('exactly one') });
    expect(await schedule({ cron: '* * * * *' })).toMatchObject({ error: expect.stringContaining('five minutes') });
    const rows = Array.from({ length: maxActiveTasks }, (_, index) => ({
      id: `${sessionId}-${index}`,
      user_did: user.did,
      session_id: sessionId,
      prompt: 'x',
      schedule: JSON.stringify({ kind: 'once', at: 9e12 }),
      timezone: 'UTC',
      status: 'active',
      next_run_at: 9e12,
      attempts: 0,
      failures: 0,
      lease_until: 0,
      created_at: 0,
    }));
    await store.db.insertInto('agent_task').values(rows).execute();
    expect(await schedule({ in: '1 hour' })).toMatchObject({ error: expect.stringContaining('50 tasks') });
  });
});

test('without the plugin a tool learns that nothing can be scheduled', async () => {
  const call = { name: 'water', args: { prompt: 'water the beans', cron: '0 6 * * *' } };
  const runtime = await createTestRuntime({ tools: { water }, model: [{ toolCalls: [call] }, { text: 'Sorry.' }] });
  const { message } = await runtime.send('every morning at six');
  expect(message.toolCalls).toMatchObject([{ error: expect.stringContaining('the plugin tasks is not loaded') }]);
  await runtime.close();
});

test('a task whose turn a shutdown cuts off runs again in the next process', async () => {
  await using database = await createTestDatabase('sqlite');
  let isStuck = true;
  const stuck = createTestPlugin({
    name: 'stuck',
    getMiddlewares: () => [
      {
        async beforeModel(_call, rt) {
          if (isStuck && rt.message.message.startsWith(scheduledMessagePrefix))
            await new Promise((resolve) => rt.abortSignal.addEventListener('abort', resolve));
          return undefined;
        },
      },
    ],
  });
  await using agent = await startTestAgent({
    databaseUrl: database.url,
    plugins: [stuck],
    env: { TASKS_POLL_MS: '50' },
  });
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  await user.say(sessionId, 'remind me to rest in 1 minute');
  const store = await openStore<{ agent_task: { next_run_at: number } }>(database.url);
  await store.db.updateTable('agent_task').set({ next_run_at: Date.now() }).execute();
  await store.close();
  const contents = async () =>
    (await user.send('GET', `/messages/${sessionId}`)).body.messages.map(({ content }: Message) => content);
  await waitFor('the turn to begin', async () => (await contents()).length === 3);
  const restarting = agent.restart();
  isStuck = false;
  await restarting;
  await waitFor('the reminder', async () => (await contents()).includes('It is time: rest'));
  await waitFor('the end of the task', async () => (await user.send('GET', '/tasks')).body.total === 0);
  expect(await contents()).toHaveLength(4);
});

test('limits per client address count a task by the address of who scheduled it', async () => {
  const clients: unknown[] = [];
  const spy = createTestPlugin({
    name: 'spy',
    getMiddlewares: () => [{ beforeSend: ({ client }) => void clients.push(client) }],
  });
  await using agent = await startTestAgent({ engine: 'sqlite', plugins: [spy], env: { TASKS_POLL_MS: '50' } });
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  await user.say(sessionId, 'remind me to rest in 1 minute');
  const store = await openStore<{ agent_task: { next_run_at: number } }>(agent.databaseUrl);
  await store.db.updateTable('agent_task').set({ next_run_at: Date.now() }).execute();
  await store.close();
  await waitFor('the reminder', async () => (await user.messages(sessionId)).length === 4);
  expect(clients).toEqual(['127.0.0.1', '127.0.0.1']);
});

interface WaitingTables {
  agent_task: { claimed_by: string | null; lease_until: number; next_run_at: number; status: string; attempts: number };
  agent_send: { key: string };
  agent_run: { session_id: string };
}

/** Pays what is due once. */
const payer: ScriptedStep = ({ prompt }) => {
  const last = prompt.at(-1);
  if (last?.role === 'tool' || !JSON.stringify(last).includes(scheduledMessagePrefix)) return { text: 'Done.' };
  return { toolCalls: [{ name: 'pay', args: { to: 'ben', amount: 50 } }] };
};

/** An agent with a task that waits for its user's approval. */
async function startWaiting(env: Record<string, string> = {}) {
  const dir = await createTempDir();
  const paidFile = `${dir.path}/paid`;
  const plugins = [createBank(paidFile)];
  const model = () => createScriptedModel(Array.from({ length: 100 }, () => payer));
  const agent = await startTestAgent({ engine: 'sqlite', plugins, model, env: { TASKS_POLL_MS: '50', ...env } });
  const store = await openStore<WaitingTables>(agent.databaseUrl);
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  expect((await user.send('POST', '/tasks', { sessionId, prompt: 'pay ben', in: '1 minute' })).status).toBe(201);
  await store.db.updateTable('agent_task').set({ next_run_at: Date.now() }).execute();
  const readTask = () => store.db.selectFrom('agent_task').selectAll().executeTakeFirstOrThrow();
  const waitForLook = () =>
    waitFor('a look at the task', async () => {
      const { claimed_by, lease_until } = await readTask();
      return claimed_by === null && (lease_until > 0 || (await readTask()).status !== 'active');
    });
  await waitForLook();
  return {
    user,
    sessionId,
    db: store.db,
    readTask,
    paid: () => readPaid(paidFile),
    async lookAgain() {
      await store.db.updateTable('agent_task').set({ lease_until: 0 }).execute();
      await waitForLook();
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await agent[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a task has one run for the time it was due, also where its user approves after keys are forgotten', async () => {
  await using waiting = await startWaiting();
  const { user, sessionId, db } = waiting;
  const { run } = (await user.send('GET', `/sessions/${sessionId}/run`)).body;
  // As the sweep does with keys of ended runs a day after they came.
  await db.deleteFrom('agent_send').execute();
  const [approval] = run.approvals;
  const path = `/runs/${run.runId}/approvals/${approval.approvalId}`;
  expect((await user.send('POST', path, { approved: true })).status).toBe(200);
  await waitFor('the payment', () => waiting.paid().length === 1);
  await waiting.lookAgain();
  expect(await waiting.readTask()).toMatchObject({ status: 'done' });
  expect(await db.selectFrom('agent_run').selectAll().execute()).toHaveLength(1);
});

test('a task that waits for its user is not given up, whatever else its user sends', async () => {
  await using waiting = await startWaiting({ SENDS_PER_MINUTE: '3' });
  const { user } = waiting;
  const own = await user.createSession();
  await waitFor('the limit', async () => (await user.say(own, 'hello')).status === 429);
  for (let look = 0; look < 3; look += 1) await waiting.lookAgain();
  expect(await waiting.readTask()).toMatchObject({ status: 'active', attempts: 0 });
});
