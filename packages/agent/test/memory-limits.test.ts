// What one user's data may take of the memory while it is read.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { agentLimits } from '@palaver/contract';
import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { createDelegation, createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { createDelegationStore } from '../src/store/delegations.ts';
import { createMessageStore } from '../src/store/messages.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

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
    async read(): Promise<string> {
      let text = '';
      for await (const chunk of socket.setEncoding('utf8')) text += chunk;
      return text;
    },
    close: () => socket.destroy(),
  };
}

/** Messages of that many characters in one session, past the API: their texts are for the reader's memory alone. */
async function fillSession(agent: TestAgent, user: TestUser, { count, column = 'content', size = mebibyte }: Filling) {
  const sessionId = await user.createSession();
  await user.say(sessionId, 'first');
  const store = await openStore<AgentDatabase>(agent.databaseUrl);
  for (let number = 4; number < 4 + count; number += 1) {
    const content = column === 'content' ? 'x'.repeat(size) : `message ${number}`;
    const hidden = column === 'hidden' ? JSON.stringify({ files: [{ name: 'f', text: 'x'.repeat(size) }] }) : null;
    await sql`insert into agent_message
        (id, session_id, run_id, position, number, type, content, status, request_id, hidden, created_at)
      select ${`m${number}`}, session_id, run_id, ${`${randomUUID()}:0`}, ${number}, 'human', ${content}, 'complete', 'r',
        ${hidden}, created_at
      from agent_message where session_id = ${sessionId} and number = 2`.execute(store.db);
  }
  return { sessionId, store };
}

interface Filling {
  count: number;
  column?: 'content' | 'hidden';
  size?: number;
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
    const text = await unread.read();
    expect(text.match(/x{1048576}/g)).toHaveLength(12);
    const again = await askUnread(agent, ana, '/me/export');
    again.close();
    await waitFor('the end of the one that was left', async () => (await ana.send('GET', '/me/export')).status === 200);
    const { body } = await ana.send('GET', '/me/export');
    expect(body.data.agent_message).toHaveLength(14);
    expect(body.data.agent_session).toMatchObject([{ id: sessionId }]);
    expect(body.data.agent_replaced).toEqual([]);
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
