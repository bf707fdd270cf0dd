import { randomUUID } from 'node:crypto';
import { createBundledPlugins } from '@palaver/agent-plugins';
import { openStore } from '@palaver/store';
import { engines, listTables, searchDatabase } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { describe, expect, test } from 'vitest';
import type { CreditsDatabase } from '../../agent-plugins/src/credits/credits-schema.ts';
import { agentPersonalData } from '../src/store/personal-data.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { delegate, request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';
import { createTestPlugin } from './test-plugin.ts';

const env = {
  CREDITS_ENABLED: 'true',
  LIVEKIT_URL: 'ws://127.0.0.1:1',
  LIVEKIT_API_KEY: 'k',
  LIVEKIT_API_SECRET: 's'.repeat(32),
};

/** Leaves something of the user in every table that can hold it. */
async function leaveTraces(agent: TestAgent, user: TestUser, marker: string): Promise<void> {
  const session = await user.createSession();
  await user.say(session, `call me ${marker}`);
  await user.say(session, `remember that my dog is called ${marker}`);
  await user.say(session, `/tool schedule_task {"prompt":"say ${marker}","in":"60 minutes"}`);
  await user.send('POST', '/sessions', { title: marker, metadata: { note: marker } });
  await user.send('POST', '/delegation', { raw: await delegate(user.signer, agent.did) });
  await user.send('POST', '/calls', { sessionId: session });
  await user.send('POST', `/files?filename=${marker}`, marker);
  // An allowance that has ended, and is taken back at the next look at the account.
  const store = await openStore<CreditsDatabase>(agent.databaseUrl);
  const ended = { user_did: user.did, opened_at: 1, ends_at: 2, allowance: 10, spent: 0 };
  await store.db.insertInto('agent_credit_subscription').values(ended).execute();
  await store.close();
  await user.send('GET', '/credits');
}

async function withStore<T>(
  agent: TestAgent,
  use: (store: Awaited<ReturnType<typeof openStore<never>>>) => Promise<T>,
) {
  const store = await openStore<never>(agent.databaseUrl);
  return use(store).finally(() => store.close());
}

describe.each(engines)("a user's data on %s", (engine) => {
  test('is exported whole, and erased so that nothing of it is found in the database', async () => {
    await using agent = await startTestAgent({ engine, env });
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    await leaveTraces(agent, ana, 'Anazebra');
    await leaveTraces(agent, ben, 'Benzebra');
    const before = await searchDatabase(agent.databaseUrl, ['Anazebra', ana.did]);
    for (const table of [
      'agent_message',
      'agent_session',
      'agent_memory',
      'agent_preferences',
      'agent_task',
      'agent_credit_account',
    ]) {
      expect(before.filter((place) => place.startsWith(`${table}.`))).not.toEqual([]);
    }

    const exported = await ana.send('GET', '/me/export');
    expect([exported.status, exported.body.did]).toEqual([200, ana.did]);
    const isIndex = (name: string) => name.startsWith('agent_memory_search');
    const held = [...new Set(before.map((place) => place.split('.')[0] ?? ''))].filter((name) => !isIndex(name));
    for (const table of held) expect([table, exported.body.data[table]?.length ?? 0]).not.toEqual([table, 0]);
    const text = JSON.stringify(exported.body);
    expect(text).toContain('Anazebra');
    expect(text).not.toContain('Benzebra');
    expect(text).not.toContain('"sealed"');

    expect(await ana.send('DELETE', '/me')).toMatchObject({ status: 200, body: { ok: true } });
    expect(await searchDatabase(agent.databaseUrl, ['Anazebra', ana.did])).toEqual([]);
    const left = await searchDatabase(agent.databaseUrl, ['Benzebra', ben.did]);
    expect(left).toEqual(before);
    expect((await ana.send('GET', '/sessions')).body.total).toBe(0);
    const { lines } = (await request(`${agent.url}/audit?subject=${encodeURIComponent(ana.did)}`)).body;
    expect(lines.map(({ action }: { action: string }) => action)).toEqual(
      expect.arrayContaining(['data.exported', 'data.erased']),
    );
  });

  test('operators export and erase by DID; users reach only their own', async () => {
    await using agent = await startTestAgent({ engine, env });
    const ana = await agent.createUser();
    await leaveTraces(agent, ana, 'Anazebra');
    const path = `${agent.url}/users/${encodeURIComponent(ana.did)}`;
    expect((await request(`${path}/export`)).body.data.agent_memory).toHaveLength(1);
    for (const [method, url] of [
      ['GET', `${path}/export`],
      ['DELETE', path],
    ] as const) {
      expect((await request(url, { method, headers: { ...ana.headers, via: 'x' } })).status).toBe(401);
    }
    expect((await request(path, { method: 'DELETE' })).status).toBe(200);
    expect(await searchDatabase(agent.databaseUrl, ['Anazebra', ana.did])).toEqual([]);
    expect((await request(`${agent.url}/users/nobody`, { method: 'DELETE' })).status).toBe(400);
  });

  test('whoever comes back after an erasure gets no free credit again, and their DID is not kept for it', async () => {
    await using agent = await startTestAgent({ engine, env });
    const ana = await agent.createUser();
    expect((await ana.send('GET', '/credits')).body.balance).toBeGreaterThan(0);
    for (let round = 0; round < 2; round++) {
      await ana.send('DELETE', '/me');
      expect(await searchDatabase(agent.databaseUrl, [ana.did])).toEqual([]);
      expect((await ana.send('GET', '/credits')).body.balance).toBe(0);
    }
    const ben = await agent.createUser();
    expect((await ben.send('GET', '/credits')).body.balance).toBeGreaterThan(0);
  });

  test('what tools store when their user was erased meanwhile is not kept', async () => {
    let databaseUrl = '';
    const eraser = createTestPlugin({
      name: 'eraser',
      getMiddlewares: () => [
        {
          // Another process, such as the command: it does not stop the turn.
          async wrapToolCall(call, next, rt) {
            const store = await openStore<AgentDatabase>(databaseUrl);
            await store.db.deleteFrom('agent_session').where('user_did', '=', rt.user.did).execute();
            await store.close();
            return next(call);
          },
        },
      ],
    });
    await using agent = await startTestAgent({ engine, env, plugins: [eraser] });
    databaseUrl = agent.databaseUrl;
    const ana = await agent.createUser();
    for (const call of [
      'remember {"text":"Anazebra", "kind":"fact"}',
      'set_user_preferences {"userName":"Anazebra"}',
    ]) {
      await ana.say(await ana.createSession(), `/tool ${call}`);
      expect(await searchDatabase(agent.databaseUrl, ['Anazebra'])).toEqual([]);
    }
  });

  test('the books balance after an erasure', async () => {
    await using agent = await startTestAgent({ engine, env });
    const ana = await agent.createUser();
    await leaveTraces(agent, ana, 'Anazebra');
    await ana.send('DELETE', '/me');
    const { sums, total } = await withStore(agent, async (store) => {
      const db = store.db as never as Parameters<typeof agentPersonalData.collect>[0];
      const accounts = await db.selectFrom('agent_credit_account').selectAll().execute();
      const entries = await db.selectFrom('agent_credit_entry').selectAll().execute();
      const sumOf = (of: typeof entries) => of.reduce((sum, { amount }) => sum + amount, 0);
      const sums = accounts.map(({ id, balance }) => [
        balance,
        sumOf(entries.filter(({ account_id }) => account_id === id)),
      ]);
      return { sums, total: sumOf(entries) };
    });
    expect(sums.length).toBeGreaterThan(0);
    for (const [balance, sum] of sums) expect(balance).toBe(sum);
    expect(total).toBe(0);
  });

  test('every table is claimed by someone, or known to hold nothing of users', async () => {
    await using agent = await startTestAgent({ engine, env });
    const claimed = new Set([
      ...agentPersonalData.tables,
      ...createBundledPlugins().flatMap(({ personalData }) => personalData?.tables ?? []),
    ]);
    // Ids of tokens and events, sums, ids of processes; what search indexes of SQLite hold goes with their table.
    const impersonal =
      /^(agent_tx_lease|agent_usage_tx|agent_usage_tx_lease|agent_slack_event|agent_credit_newcomer|agent_credit_cursor|agent_instance.*|agent_lease|agent_file_object|agent_memory_search.*|palaver_.*)$/;
    const names = await listTables(agent.databaseUrl);
    expect(names.filter((name) => !claimed.has(name) && !impersonal.test(name))).toEqual([]);
  });
});

test('whoever stores something again and again keeps no user from being erased, at any instance', async () => {
  const own = { ORACLE_PRIVATE_KEY: (await createSigner()).toSecret() };
  const statuses: number[] = [];
  let store = async () => 0;
  const slow = createTestPlugin({
    name: 'slow',
    personalData: {
      tables: [],
      collect: async () => ({}),
      // Another write in the middle of each try.
      erase: async () => void statuses.push(await store()),
    },
  });
  await using here = await startTestAgent({ engine: 'postgres', env: own, plugins: [slow] });
  await using there = await startTestAgent({ databaseUrl: here.databaseUrl, env: own });
  const ana = await here.createUser();
  const atBoth = [ana, await there.createUser(ana.signer)];
  store = async () => {
    const replies = await Promise.all(atBoth.map((user) => user.send('POST', '/memory', { text: randomUUID() })));
    return Math.min(...replies.map(({ status }) => status));
  };
  expect(await store()).toBe(201);
  expect(await ana.send('DELETE', '/me')).toMatchObject({ status: 200 });
  // The word of an erasure may reach the other instance after the first try has begun.
  expect(statuses.at(-1)).toBe(503);
  expect(await store()).toBe(201);
});
