// What one user, and one address with as many keys as it likes, can make the service keep.
import { agentLimits } from '@palaver/contract';
import { memoryLimits } from '@palaver/contract/internal';
import { openStore } from '@palaver/store';
import { engines, forwardingCases, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin, tool } from '../src/index.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { openSocket, refusalOf, type TestSocket } from './connect-socket.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const full = (code: string) => ({ status: 429, body: { statusCode: 429, code } });

describe.each(engines)('on %s', (engine) => {
  test('forty new keys of one address do not get forty times the free credit', async () => {
    const env = { CREDITS_ENABLED: 'true', CREDITS_FREE: '7', CREDITS_FREE_USERS_PER_ADDRESS: '3' };
    await using agent = await startTestAgent({ engine, env });
    const users = await Promise.all(Array.from({ length: 40 }, () => agent.createUser()));
    const balances = await Promise.all(users.map(async (user) => (await user.send('GET', '/credits')).body.balance));
    expect(balances.filter((balance) => balance === 7)).toHaveLength(3);
    expect(balances.filter((balance) => balance === 0)).toHaveLength(37);
    const [late] = users.filter((_, index) => balances[index] === 0) as [TestUser];
    const sessionId = await late.createSession();
    expect(await late.say(sessionId, 'hello')).toMatchObject({ status: 402, body: { code: 'PAYMENT_REQUIRED' } });
    const [early] = users.filter((_, index) => balances[index] === 7) as [TestUser];
    expect((await early.say(await early.createSession(), 'hello')).status).toBe(200);
    await agent.restart();
    expect((await (await agent.createUser()).send('GET', '/credits')).body.balance).toBe(0);
  });

  test('sessions created at once are bounded too', async () => {
    await using agent = await startTestAgent({ engine, env: { SESSIONS_PER_USER: '5' } });
    const ana = await agent.createUser();
    const store = await openStore<never>(agent.databaseUrl);
    const create = () => Promise.all(Array.from({ length: 8 }, () => ana.send('POST', '/sessions')));
    // With the table locked against writes, each has counted before any has inserted.
    const createLocked = () =>
      store.transaction(async (trx) => {
        await sql`lock table agent_session in share row exclusive mode`.execute(trx);
        const created = create();
        await waitFor('all to wait', async () => {
          const { rows } = await sql`select 1 from pg_locks where not granted`.execute(store.db);
          return rows.length >= 8;
        });
        return { created };
      });
    const replies = await (engine === 'postgres' ? (await createLocked()).created : create());
    await store.close();
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(replies.filter(({ body }) => body.code === 'LIMIT_REACHED')).toHaveLength(3);
    expect((await ana.send('GET', '/sessions')).body.total).toBe(5);
  });

  test('sessions, and what they are created with, are bounded', async () => {
    await using agent = await startTestAgent({ engine, env: { SESSIONS_PER_USER: '3' } });
    const ana = await agent.createUser();
    const create = (bytes: number) => ana.send('POST', '/sessions', { metadata: { note: 'x'.repeat(bytes) } });
    expect(await create(8_200)).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });
    const first = await create(8_100);
    const store = await openStore<AgentDatabase>(agent.databaseUrl);
    const initial_bytes = agentLimits.initialBytes - 8_100;
    await store.db.updateTable('agent_session').set({ initial_bytes }).execute();
    await store.close();
    expect(await create(8_100)).toMatchObject(full('LIMIT_REACHED'));
    // Without metadata there is room until the number is reached; what is deleted makes room.
    for (let index = 0; index < 2; index += 1) expect((await ana.send('POST', '/sessions')).status).toBe(201);
    expect(await ana.send('POST', '/sessions')).toMatchObject(full('LIMIT_REACHED'));
    await ana.send('DELETE', `/sessions/${first.body.sessionId}`);
    expect((await create(8_100)).status).toBe(201);
    expect((await (await agent.createUser()).send('POST', '/sessions')).status).toBe(201);
  });
});

test('a user keeps so many memories', async () => {
  await using agent = await startTestAgent();
  const ana = await agent.createUser();
  const add = (index: number) => ana.send('POST', '/memory', { text: `thing ${index}` });
  for (let index = 0; index < memoryLimits.count; index += 50) {
    const replies = await Promise.all(Array.from({ length: 50 }, (_, next) => add(index + next)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
  }
  expect(await add(memoryLimits.count)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
  expect(await ana.say(await ana.createSession(), 'remember that goats eat roses')).toMatchObject({
    body: { message: { toolCalls: [{ error: expect.stringContaining('full') }] } },
  });
  expect((await ana.send('GET', '/memory')).body.total).toBe(memoryLimits.count);
});

test('free credit can be switched off', async () => {
  await using agent = await startTestAgent({ env: { CREDITS_ENABLED: 'true', CREDITS_FREE: '0' } });
  expect((await (await agent.createUser()).send('GET', '/credits')).body.balance).toBe(0);
});

test('a user creates so many sessions a minute', async () => {
  await using agent = await startTestAgent({ env: { SENDS_PER_MINUTE: '5' } });
  const ana = await agent.createUser();
  for (let index = 0; index < 5; index += 1) expect((await ana.send('POST', '/sessions')).status).toBe(201);
  const refused = await ana.send('POST', '/sessions');
  expect(refused).toMatchObject(full('RATE_LIMITED'));
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await (await agent.createUser()).send('POST', '/sessions')).status).toBe(201);
});

test.each(forwardingCases)('the rate limit of an address: %s', async (_, env, same, other) => {
  await using agent = await startTestAgent({ env: { WRITES_PER_MINUTE_PER_ADDRESS: '1', ...env } });
  const from = async (chain: string) =>
    (await fetch(`${agent.url}/sessions`, { method: 'POST', headers: { 'x-forwarded-for': chain } })).status;
  expect([await from(same[0]), await from(same[1])]).toEqual([401, 429]);
  if (other !== undefined) expect(await from(other)).toBe(401);
});

test('an address writes so often a minute, whatever its keys; it may always read', async () => {
  await using agent = await startTestAgent({ env: { WRITES_PER_MINUTE_PER_ADDRESS: '12' } });
  const users = await Promise.all(Array.from({ length: 20 }, () => agent.createUser()));
  const statuses = [];
  for (const user of users) statuses.push((await user.send('POST', '/sessions')).status);
  expect(statuses).toEqual([...Array(12).fill(201), ...Array(8).fill(429)]);
  const [ana] = users as [TestUser];
  for (const [method, path] of [
    ['POST', '/delegation'],
    ['DELETE', '/delegation'],
    ['POST', '/memories'],
    ['POST', '/messages/x'],
  ] as const)
    expect(await ana.send(method, path, method === 'POST' ? {} : undefined)).toMatchObject(full('RATE_LIMITED'));
  expect((await ana.send('GET', '/sessions')).status).toBe(200);
});

test.each([
  ['of an address', {}],
  ['of a user whose address many users share', { SHARED_CLIENT_CIDRS: '127.0.0.0/8,::1' }],
])(
  'events %s count like writes; a socket over the limit receives an error and is disconnected',
  async (_whose, shared) => {
    await using agent = await startTestAgent({ env: { WRITES_PER_MINUTE_PER_ADDRESS: '12', ...shared } });
    const ana = await agent.createUser();
    const query = { sessionId: await ana.createSession() };
    const tab = openSocket(agent.url, { query, auth: { invocation: ana.invocation } });
    await tab.event('connected');
    let answered = 0;
    for (let index = 0; index < 100; index += 1)
      tab.socket.emit('approval_response', { runId: 'r', approvalId: 'a', approved: true }, () => (answered += 1));
    expect(await tab.event('error')).toMatchObject({ code: 'RATE_LIMITED' });
    await tab.disconnected();
    expect(answered).toBeLessThanOrEqual(12);
  },
);

describe('handshakes of sockets', () => {
  async function open(agent: TestAgent, user: TestUser, transport: 'websocket' | 'polling' = 'websocket') {
    const query = { sessionId: (await user.send('GET', '/sessions')).body.sessions[0].sessionId };
    return openSocket(agent.url, { query, auth: { invocation: user.invocation }, transports: [transport] });
  }

  test.each(['websocket', 'polling'] as const)('of an address count like writes, over %s', async (transport) => {
    await using agent = await startTestAgent({ env: { WRITES_PER_MINUTE_PER_ADDRESS: '4' } });
    const ana = await agent.createUser();
    await ana.createSession();
    for (let index = 0; index < 3; index += 1) {
      const tab = await open(agent, ana, transport);
      await tab.event('connected');
      tab.socket.close();
    }
    await refusalOf(await open(agent, ana, transport));
    const bare = await request(`${agent.url}/socket.io/?EIO=4&transport=polling`);
    expect(bare).toMatchObject({ status: 403, body: { message: expect.stringContaining('More than 4 requests') } });
    expect(await ana.send('POST', '/sessions')).toMatchObject(full('RATE_LIMITED'));
  });

  test('of a user whose address is shared by many count for the user', async () => {
    const env = { WRITES_PER_MINUTE_PER_ADDRESS: '2', SHARED_CLIENT_CIDRS: '127.0.0.0/8,::1' };
    await using agent = await startTestAgent({ env });
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    for (const user of [ana, ben]) await user.createSession();
    const tabs = [];
    for (let index = 0; index < 2; index += 1) {
      const tab = await open(agent, ana);
      await tab.event('connected');
      tabs.push(tab);
    }
    expect(await refusalOf(await open(agent, ana))).toMatchObject({ code: 'RATE_LIMITED' });
    const other = await open(agent, ben);
    await other.event('connected');
    for (const { socket } of [...tabs, other]) socket.close();
  });

  test('a session has so many at a time', async () => {
    await using agent = await startTestAgent();
    const ana = await agent.createUser();
    await ana.createSession();
    const tabs = await Promise.all(Array.from({ length: agentLimits.socketsPerSession }, () => open(agent, ana)));
    await Promise.all(tabs.map((tab) => tab.event('connected')));
    expect(await refusalOf(await open(agent, ana))).toMatchObject({ code: 'LIMIT_REACHED' });
    tabs.pop()?.socket.close();
    await waitFor('a place for another', async () => {
      const tab = await open(agent, ana);
      tabs.push(tab);
      return refusalOf(tab).then(
        () => false,
        () => true,
      );
    });
    for (const { socket } of tabs) socket.close();
  });

  test('a user has so many at a time, in whatever sessions', async () => {
    await using agent = await startTestAgent();
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    await ben.createSession();
    const tabs: TestSocket[] = [];
    const openMore = async (count: number) => {
      const more = await Promise.all(Array.from({ length: count }, () => open(agent, ana)));
      await Promise.all(more.map((tab) => tab.event('connected')));
      tabs.push(...more);
    };
    for (let left = agentLimits.socketsPerUser; left > 0; left -= agentLimits.socketsPerSession / 2) {
      await ana.createSession();
      await openMore(Math.min(left, agentLimits.socketsPerSession / 2));
    }
    await ana.createSession();
    expect(await refusalOf(await open(agent, ana))).toMatchObject({ code: 'LIMIT_REACHED' });
    const other = await open(agent, ben);
    await other.event('connected');
    tabs.pop()?.socket.close();
    await waitFor('a place for another', () =>
      openMore(1).then(
        () => true,
        () => false,
      ),
    );
    for (const { socket } of [...tabs, other]) socket.close();
  });
});

test.each([
  ['an address', {}, '127.0.0.1'],
  ['none that many users share', { SHARED_CLIENT_CIDRS: '127.0.0.0/8,::1' }, 'none'],
])('a tool receives %s to count its user by', async (_what, env, expected) => {
  const plugin = defineOraclePlugin({
    name: 'clients',
    version: '1.0.0',
    manifest: { title: 'Clients', summary: 'Counts.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getTools: () => ({
      who: tool({
        description: 'Says who.',
        inputSchema: z.object({}),
        execute: (_args, { client = 'none' }) => client,
      }),
    }),
  });
  await using agent = await startTestAgent({ env, plugins: [plugin] });
  const ana = await agent.createUser();
  const { body } = await ana.say(await ana.createSession(), '/tool who {}');
  expect(body.message.toolCalls).toMatchObject([{ output: expected }]);
});

test('an address that many users share is not counted', async () => {
  const env = { WRITES_PER_MINUTE_PER_ADDRESS: '2', SHARED_CLIENT_CIDRS: '127.0.0.0/8,::1' };
  const credits = { CREDITS_ENABLED: 'true', CREDITS_FREE: '7', CREDITS_FREE_USERS_PER_ADDRESS: '1' };
  await using agent = await startTestAgent({ env: { ...env, ...credits } });
  for (let index = 0; index < 5; index += 1) {
    const user = await agent.createUser();
    expect((await user.send('POST', '/sessions')).status).toBe(201);
    expect((await user.send('GET', '/credits')).body.balance).toBe(7);
  }
});

test('reads are limited by the client address, and probes are not', async () => {
  await using agent = await startTestAgent({ env: { WRITES_PER_MINUTE_PER_ADDRESS: '2' } });
  const ana = await agent.createUser();
  const read = async () => (await ana.send('GET', '/sessions')).status;
  for (let count = 0; count < 10; count += 1) expect(await read()).toBe(200);
  expect(await read()).toBe(429);
  expect((await ana.send('GET', '/me/export')).status).toBe(429);
  expect((await fetch(`${agent.url}/health`)).status).toBe(200);
  expect((await ana.send('POST', '/sessions')).status).toBe(201);
});

test('a session of many messages is read whole, in order, by both ways', async () => {
  await using agent = await startTestAgent();
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  expect(await ana.messages(sessionId)).toEqual([]);
  for (let at = 0; at < 12; at += 1) await ana.say(sessionId, `number ${at}`);
  const listed = await ana.messages(sessionId);
  const asked = listed.filter(({ type }) => type === 'human').map(({ content }) => content);
  expect(asked).toEqual(Array.from({ length: 12 }, (_, at) => `number ${at}`));
  const { body } = await ana.say(sessionId, 'all', { returnAllMessages: true });
  expect(body.messages.slice(0, 24)).toEqual(listed);
  expect(body).toMatchObject({ sessionId, message: { id: body.messages.at(-1).id } });
});

test('a user has so many replies open at a time, and can still end and revoke things', async () => {
  await using agent = await startTestAgent({ env: { OFFLINE_WORDS_PER_SECOND: '1' } });
  const [ana, ben] = [await agent.createUser(), await agent.createUser()];
  const [sessionId, other] = [await ana.createSession(), await ana.createSession()];
  const first = await ana.stream(sessionId, '/long 500');
  const runId = first.headers.get('x-run-id') ?? '';
  const readers = await Promise.all(Array.from({ length: agentLimits.repliesPerUser - 1 }, () => ana.follow(runId)));
  expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]));
  for (const path of [`/runs/${runId}`, '/sessions']) {
    const refused = await ana.send('GET', path);
    expect(refused).toMatchObject(full('LIMIT_REACHED'));
    expect(refused.headers.get('retry-after')).toBe('5');
  }
  const completion = await ana.send('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }] });
  expect(completion).toMatchObject({ status: 429, body: { error: { code: 'limit_reached' } } });
  expect((await ben.send('GET', '/sessions')).status).toBe(200);
  expect((await ana.send('DELETE', `/sessions/${other}`)).status).toBe(200);
  await readers.pop()?.body?.cancel();
  await waitFor('room', async () => (await ana.send('GET', '/sessions')).status === 200);
  await Promise.all([first, ...readers].map(({ body }) => body?.cancel()));
});
