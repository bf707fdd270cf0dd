// What one user's data may take of the memory while it is read.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { agentLimits } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { createDelegation, createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tool } from '../src/index.ts';
import { createDelegationStore } from '../src/store/delegations.ts';
import { createMessageStore } from '../src/store/messages.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { answerOf, ask } from './ask-approval.ts';
import { createGate } from './gate-plugin.ts';
import { readUntil } from './read-frames.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';
import { createTestPlugin } from './test-plugin.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
const mebibyte = 1024 * 1024;

const toLines = ({ headers }: TestUser) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');

/** Asks without reading the reply; the returned function reads it to its end. */
async function askUnread(agent: TestAgent, user: TestUser, path: string) {
  const { hostname, port } = new URL(agent.url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n${toLines(user)}\r\n`);
  await new Promise((resolve) => socket.once('readable', resolve));
  return {
    async status(): Promise<number> {
      const head = (socket.read(12) ?? '').toString();
      return Number(head.slice(9));
    },
    async read(): Promise<string> {
      let text = '';
      for await (const chunk of socket.setEncoding('utf8')) text += chunk;
      return text;
    },
    close: () => socket.destroy(),
  };
}

/** Messages of that many characters in one session, past the API: their texts are for the reader's memory alone. */
async function fillSession(
  agent: TestAgent,
  user: TestUser,
  { count, column = 'content', size = mebibyte, name = 'm' }: Filling,
) {
  const sessionId = await user.createSession();
  await user.say(sessionId, 'first');
  const store = await openStore<AgentDatabase>(agent.databaseUrl);
  for (let number = 4; number < 4 + count; number += 1) {
    const content = column === 'content' ? 'x'.repeat(size) : `message ${number}`;
    const hidden = column === 'hidden' ? JSON.stringify({ files: [{ name: 'f', text: 'x'.repeat(size) }] }) : null;
    await sql`insert into agent_message
        (id, session_id, run_id, position, number, type, content, status, request_id, hidden, created_at)
      select ${`${name}${number}`}, session_id, run_id, ${`${randomUUID()}:0`}, ${number}, 'human', ${content}, 'complete', 'r',
        ${hidden}, created_at
      from agent_message where session_id = ${sessionId} and number = 2`.execute(store.db);
  }
  return { sessionId, store };
}

interface Filling {
  count: number;
  column?: 'content' | 'hidden';
  size?: number;
  /** How their ids begin. */
  name?: string;
}

describe.each(engines)('on %s', (engine) => {
  test('an export is made as it is read: one at a time of a user, and it is whole', async () => {
    await using agent = await startTestAgent({ engine });
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    const { store, sessionId } = await fillSession(agent, ana, { count: 12 });
    await store.close();
    const unread = await askUnread(agent, ana, '/me/export');
    expect(await ana.send('GET', '/me/export')).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect((await ben.send('GET', '/me/export')).status).toBe(200);
    // Without the lines between two chunks.
    const text = (await unread.read()).replaceAll(/\r\n[0-9a-f]+\r\n/g, '');
    expect(text.match(/x{1048576}/g)).toHaveLength(12);
    const again = await askUnread(agent, ana, '/me/export');
    again.close();
    await waitFor('the end of the one that was left', async () => (await ana.send('GET', '/me/export')).status === 200);
    const { body } = await ana.send('GET', '/me/export');
    expect(body.data.agent_message).toHaveLength(14);
    expect(body.data.agent_session).toMatchObject([{ id: sessionId }]);
    expect(body.data.agent_replaced).toEqual([]);
  });

  test('an export whose reader leaves while it waits for its place is not counted any more', async () => {
    const ends: (() => void)[] = [];
    const addRoutes = (server: Server) =>
      server.get('/work', async (request) => {
        await request.takePlace(mebibyte);
        await new Promise<void>((resolve) => ends.push(resolve));
        return {};
      });
    await using agent = await startTestAgent({ engine, hooks: { addRoutes: (server) => void addRoutes(server) } });
    const ana = await agent.createUser();
    const others = await Promise.all(Array.from({ length: 3 }, () => agent.createUser()));
    const working = others.map((user) => user.send('GET', '/work'));
    await waitFor('all places', () => ends.length === 3);
    for (let count = 0; count < 3; count += 1) (await askUnread(agent, ana, '/me/export')).close();
    await waitFor('the end of those', async () => {
      const waiting = await askUnread(agent, ana, '/me/export');
      const isCounted = (await waiting.status()) === 200;
      waiting.close();
      return isCounted;
    });
    for (const end of ends) end();
    await Promise.all(working);
    await waitFor('the end of the last', async () => (await ana.send('GET', '/me/export')).status === 200);
  });

  test('two exports of one address are read at a time, others and operators have theirs', async () => {
    await using agent = await startTestAgent({
      engine,
      env: { TRUST_PROXY_ENABLED: 'true', OPERATOR_TOKEN: 'o'.repeat(32) },
    });
    const users = await Promise.all(Array.from({ length: 3 }, () => agent.createUser()));
    const from = (address: string, user: TestUser) => ({ ...user.headers, 'x-forwarded-for': address });
    const [ana, ben, cem] = users as [TestUser, TestUser, TestUser];
    const unread = [];
    for (const user of [ana, ben]) {
      const { store } = await fillSession(agent, user, { count: 12, name: user.did });
      await store.close();
      unread.push(await askUnread(agent, { ...user, headers: from('192.0.2.1', user) }, '/me/export'));
    }
    const ask = async (address: string) =>
      (await request(`${agent.url}/me/export`, { headers: from(address, cem) })).status;
    expect([await ask('192.0.2.1'), await ask('192.0.2.2')]).toEqual([429, 200]);
    const operator = { authorization: `Bearer ${'o'.repeat(32)}` };
    const path = `/users/${ana.did}/export`;
    expect((await request(`${agent.url}${path}`, { headers: operator })).status).toBe(200);
    for (let at = 0; at < 5; at += 1) unread.push(await askUnread(agent, { ...ana, headers: operator }, path));
    expect((await request(`${agent.url}${path}`, { headers: operator })).status).toBe(429);
    for (const { close } of unread) close();
  });

  test('a page of large messages has fewer of them, and the cursors reach the rest', async () => {
    await using agent = await startTestAgent({ engine });
    const ana = await agent.createUser();
    const { store, sessionId } = await fillSession(agent, ana, { count: 9 });
    await store.close();
    const ids: string[] = [];
    let before = '';
    do {
      const { body } = await ana.send(
        'GET',
        `/sessions/${sessionId}/messages?limit=100${before && `&before=${before}`}`,
      );
      expect(JSON.stringify(body).length).toBeLessThan(9 * mebibyte);
      ids.unshift(...body.messages.map(({ id }: { id: string }) => id));
      before = body.prevCursor ?? '';
    } while (before !== '');
    expect(ids.slice(2)).toEqual(['m4', 'm5', 'm6', 'm7', 'm8', 'm9', 'm10', 'm11', 'm12']);
    expect((await ana.messages(sessionId)).map(({ id }) => id)).toEqual(ids);
  });

  test('what clients are not shown is not read for them, and a turn reads no more than fits', async () => {
    await using agent = await startTestAgent({ engine });
    const ana = await agent.createUser();
    const { store, sessionId } = await fillSession(agent, ana, { count: 9, column: 'hidden' });
    const { body } = await ana.send('GET', `/sessions/${sessionId}/messages?limit=100`);
    expect(body.messages).toHaveLength(11);
    expect(JSON.stringify(body)).not.toContain('xxx');
    const { body: answered } = await ana.say(sessionId, 'hello');
    const run = await store.db
      .selectFrom('agent_message')
      .select('run_id')
      .where('id', '=', answered.message.id)
      .executeTakeFirstOrThrow();
    const messages = createMessageStore(store);
    await sql`update agent_run set number = 1000 where id = ${run.run_id}`.execute(store.db);
    const { messages: read, isWhole } = await messages.before(sessionId, run.run_id, 400);
    await store.close();
    const sizes = read.map(({ files = [] }) => files[0]?.text?.length ?? 0);
    expect(sizes.filter((size) => size === mebibyte)).toHaveLength(4);
    expect(isWhole).toBe(false);
  });

  test('the delegations of a user are bounded together, and parsed once', async () => {
    await using agent = await startTestAgent({ engine });
    const ana = await agent.createUser();
    const capabilities = Array.from({ length: 30 }, (_, at) => ({
      can: `goat/${'x'.repeat(250)}${at}`,
      with: ana.did,
    }));
    const post = async () => {
      const { serialized: raw } = await createDelegation({ issuer: ana.signer, audience: agent.did, capabilities });
      return ana.send('POST', '/delegation', { raw });
    };
    let taken = 0;
    let reply = await post();
    for (; reply.status === 200; taken += 1) reply = await post();
    expect(reply).toMatchObject({ status: 429, body: { code: 'LIMIT_REACHED' } });
    const { body } = await ana.send('GET', '/delegation');
    expect(body.delegations).toHaveLength(taken);
    expect(taken).toBeGreaterThan(20);
    expect(JSON.stringify(body).length).toBeLessThan(2 * agentLimits.delegationBytes);
    // A short one still has room once a long one is gone.
    expect((await ana.send('DELETE', `/delegation/${body.delegations[0].cid}`)).status).toBe(200);
    expect((await post()).status).toBe(200);
  });
});

test('a delegation is parsed once for all turns', async () => {
  await using agent = await startTestAgent({ engine: 'sqlite' });
  const store = await openStore<AgentDatabase>(agent.databaseUrl);
  const issuer = await createSigner();
  const delegations = createDelegationStore(store, {
    agentDid: agent.did,
    referenceOf: (did) => `erased ${did}`,
    seal: { seal: (text) => text, open: (text) => text },
  });
  const capabilities = [{ can: 'goat/count', with: issuer.did() }];
  for (let count = 0; count < 5; count += 1) {
    const { serialized, cid, expiresAt } = await createDelegation({ issuer, audience: agent.did, capabilities });
    const stored = { token: serialized, cid, expiration: expiresAt, capabilities };
    await delegations.put(issuer.did(), stored, async () => {});
  }
  const read = async () => (await delegations.findUsable(issuer.did())).usable;
  const [first, second] = [await read(), await read()];
  await store.close();
  expect(first).toHaveLength(5);
  expect(first.every(({ view }, index) => view === second[index]?.view)).toBe(true);
});

describe('what a message brings', () => {
  const list = (count: number) => Array.from({ length: count }, () => ({}));

  test('is bounded in bytes and in values, at every door', async () => {
    await using agent = await startTestAgent();
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const say = async (more: object) => (await ana.say(sessionId, 'hello', more as Record<string, unknown>)).status;
    const schema = { type: 'object', note: 'x'.repeat(20_000) };
    const tools = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ name: `t${at}`, description: '', schema }));
    expect(await say({ metadata: { note: 'x'.repeat(8_000) } })).toBe(200);
    expect(await say({ metadata: { note: 'x'.repeat(8_200) } })).toBe(400);
    expect(await say({ metadata: { values: list(3_000) } })).toBe(400);
    expect(await say({ metadata: { values: list(100_000) } })).toBe(413);
    expect(await say({ tools: tools(12) })).toBe(200);
    expect(await say({ tools: tools(20) })).toBe(400);
    expect(await say({ agActions: tools(20) })).toBe(400);
    expect(await say({ tools: tools(7), agActions: tools(7) })).toBe(400);
    expect(await say({ tools: [{ name: 't', description: '', schema: { values: list(20_000) } }] })).toBe(400);
    const functions = tools(20).map(({ name, schema: parameters }) => ({
      type: 'function',
      function: { name, parameters },
    }));
    const messages = [{ role: 'user', content: 'hello' }];
    expect((await ana.send('POST', '/v1/chat/completions', { messages, tools: functions })).status).toBe(400);
  });

  test('is not in memory while its run waits for the user or for its place, and is read again', async () => {
    const held: WeakRef<object>[] = [];
    const notes: unknown[] = [];
    const note = tool({
      description: 'Notes the metadata.',
      inputSchema: z.object({}),
      needsApproval: true,
      execute: (_args, { message }) => void notes.push(message.metadata),
    });
    const gate = createGate();
    const plugin = createTestPlugin({
      name: 'notes',
      getTools: () => ({ note }),
      getMiddlewares: () => [{ beforeSend: ({ message }) => void held.push(new WeakRef(message)) }],
    });
    await using agent = await startTestAgent({ plugins: [plugin, gate.plugin] });
    const ana = await agent.createUser();
    const isGone = (at: number) => {
      collectGarbage();
      return held[at]?.deref() === undefined;
    };
    const { frames, asked } = await ask(ana, await ana.createSession(), '/tool note {}', {
      metadata: { of: 'waiting' },
    });
    await waitFor('the end of the first', () => isGone(0), 10_000);
    await answerOf(ana, asked, true);
    await readUntil(frames, 'done');

    const sessionId = await ana.createSession();
    const first = ana.say(sessionId, '/tool gate {}');
    await gate.reached();
    const queued = ask(ana, sessionId, '/tool note {}', { metadata: { of: 'queued' } });
    await waitFor('the end of the queued', () => held.length === 3 && isGone(2), 10_000);
    gate.open();
    await first;
    const second = await queued;
    await answerOf(ana, second.asked, true);
    await readUntil(second.frames, 'done');
    expect(notes).toEqual([{ of: 'waiting' }, { of: 'queued' }]);
  });
});

test('requests and unread replies of one address take no more than their share, and others are served', async () => {
  await using agent = await startTestAgent({ engine: 'sqlite', env: { TRUST_PROXY_ENABLED: 'true' } });
  const ana = await agent.createUser();
  const { store, sessionId } = await fillSession(agent, ana, { count: 7 });
  await store.close();
  const statuses: number[] = [];
  const from = (address: string) => ({ ...ana, headers: { ...ana.headers, 'x-forwarded-for': address } });
  const unread = [];
  for (let count = 0; count < 8; count += 1) {
    const reply = await askUnread(agent, from('192.0.2.1'), `/sessions/${sessionId}/messages?limit=100`);
    statuses.push(await reply.status());
    unread.push(reply);
  }
  expect(statuses[0]).toBe(200);
  expect(statuses).toContain(503);
  expect((await ana.send('GET', `/sessions/${sessionId}/messages?limit=100`)).status).toBe(200);
  for (const { close } of unread) close();
});
