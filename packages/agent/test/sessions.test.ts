import { agentLimits, sessionSchema } from '@palaver/contract';
import { sessionListSchema } from '@palaver/contract/internal';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reading } from '../src/store/messages.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { createSessionStore } from '../src/store/sessions.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe.each(engines)('sessions on %s', (engine) => {
  let agent: TestAgent;
  let ana: TestUser;

  beforeAll(async () => {
    agent = await startTestAgent({ engine, env: { ORACLE_NAME: 'Farm helper' } });
    ana = await agent.createUser();
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  test('a new session has the shape of the contract', async () => {
    const { status, body } = await ana.send('POST', '/sessions', { title: 'Maize', metadata: { spaceId: 's' } });
    expect(status).toBe(201);
    expect(sessionSchema.strict().parse(body)).toEqual(body);
    expect(body).toMatchObject({ title: 'Maize', oracleName: 'Farm helper', oracleDid: agent.did });
    expect(body.sessionId).toMatch(uuidV7);
    expect(body.createdAt).toBe(body.lastUpdatedAt);
  });

  test('the room is the pair of user and agent, not the session', async () => {
    const ben = await agent.createUser();
    const rooms = await Promise.all(
      [ana, ana, ben].map(async (user) => (await user.send('POST', '/sessions')).body.roomId),
    );
    expect(rooms[0]).toBe(rooms[1]);
    expect(rooms[0]).not.toBe(rooms[2]);
  });

  test.each([
    ['no body', undefined],
    ['an empty body with a JSON content type', ''],
    ['null', 'null'],
    ['an empty object', '{}'],
    ['unknown fields', '{"oracleDid":"did:x:y","agent":{"deep":[1]}}'],
  ])('%s is fine', async (_what, body) => {
    const created = await ana.send('POST', '/sessions', body);
    expect(created.status).toBe(201);
    expect(created.body.title).toBe('New chat');
  });

  test.each([
    ['{"title":""}', 'title'],
    [JSON.stringify({ title: '🌽'.repeat(201) }), 'title'],
    ['{"title":7}', 'title'],
    ['{"title":"a\\u0000"}', 'title'],
    ['{"metadata":"text"}', 'metadata'],
    ['[]', ''],
    ['"text"', ''],
  ])('%.40s is refused with the path of the fault', async (body, path) => {
    const refused = await ana.send('POST', '/sessions', body);
    expect(refused).toMatchObject({ status: 400, body: { statusCode: 400, code: 'VALIDATION_FAILED' } });
    expect(refused.body.issues[0].path).toBe(path);
  });

  test('a title of 200 code points outside the basic plane is taken whole', async () => {
    const title = '🌽'.repeat(200);
    expect((await ana.send('POST', '/sessions', { title })).body.title).toBe(title);
  });

  test('lists the newest updated first, in pages', async () => {
    const cara = await agent.createUser();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push(await cara.createSession());
    await cara.say(ids[1] as string, 'hello'); // which makes it the newest
    const expected = [ids[1], ids[4], ids[3], ids[2], ids[0]];

    const all = (await cara.send('GET', '/sessions')).body;
    expect(sessionListSchema.strict().parse(all)).toEqual(all);
    expect(all).toMatchObject({ total: 5, limit: 20, offset: 0 });
    expect(all.sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(expected);

    const page = (await cara.send('GET', '/sessions?limit=2&offset=3')).body;
    expect(page).toMatchObject({ total: 5, limit: 2, offset: 3 });
    expect(page.sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(expected.slice(3));
    expect((await cara.send('GET', '/sessions?offset=99')).body).toMatchObject({ sessions: [], total: 5 });
  });

  test.each(['limit=0', 'limit=101', 'limit=abc', 'limit=', 'limit=1e1', 'limit=1&limit=2', 'offset=-1', 'offset=1.5'])(
    '?%s is refused',
    async (query) => {
      const refused = await ana.send('GET', `/sessions?${query}`);
      expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
      expect(refused.body.issues[0].path).toBe(query.split('=')[0]);
    },
  );

  test('is named from the first exchange, unless it has a name', async () => {
    const unnamed = await ana.createSession();
    const named = (await ana.send('POST', '/sessions', { title: 'Mine' })).body.sessionId;
    await Promise.all([ana.say(unnamed, 'when do I sow maize?'), ana.say(named, 'when do I sow maize?')]);
    await ana.say(unnamed, 'and beans?');
    const { sessions } = (await ana.send('GET', '/sessions?limit=100')).body;
    const titleOf = (id: string) => sessions.find((session: { sessionId: string }) => session.sessionId === id).title;
    expect(titleOf(unnamed)).toBe('when do I sow maize?');
    expect(titleOf(named)).toBe('Mine');
  });

  test('is named from the first of several messages sent at once', async () => {
    const sessionId = await ana.createSession();
    await Promise.all(['first', 'second', 'third'].map((text) => ana.say(sessionId, text)));
    const { sessions } = (await ana.send('GET', '/sessions?limit=100')).body;
    const first = (await ana.messages(sessionId))[0].content;
    expect(sessions.find((session: { sessionId: string }) => session.sessionId === sessionId).title).toBe(first);
  });

  test('a session is renamed by its own user, in the bounds of a title, and keeps that title', async () => {
    const { body } = await ana.send('POST', '/sessions');
    const path = `/sessions/${body.sessionId}`;
    const renamed = await ana.send('PATCH', path, { title: 'Maize prices' });
    expect(renamed).toMatchObject({ status: 200, body: { sessionId: body.sessionId, title: 'Maize prices' } });
    await ana.send('POST', `/messages/${body.sessionId}`, { message: 'Good morning', stream: false });
    const { sessions } = (await ana.send('GET', '/sessions?limit=100')).body;
    expect(sessions).toContainEqual(expect.objectContaining({ sessionId: body.sessionId, title: 'Maize prices' }));
    for (const title of ['', '🌽'.repeat(201), 7, undefined])
      expect((await ana.send('PATCH', path, { title })).body).toMatchObject({ code: 'VALIDATION_FAILED' });
    const ben = await agent.createUser();
    expect((await ben.send('PATCH', path, { title: 'Mine' })).body).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  describe('a fork', () => {
    const fork = (user: TestUser, id: string, messageId: unknown) =>
      user.send('POST', `/sessions/${id}/fork`, { messageId });
    const contentsOf = async (id: string) => (await ana.messages(id)).map(({ content }) => content);

    test('shares the past up to a message, and what is said later in neither of both', async () => {
      const { body } = await ana.send('POST', '/sessions', { title: 'Maize', metadata: { spaceId: 's' } });
      const first = body.sessionId;
      for (const text of ['call me Ana', '/tool list_tasks {}', 'and beans?']) await ana.say(first, text);
      const past = await ana.messages(first);
      const { status, body: forked } = await fork(ana, first, past[3].id);
      expect([status, sessionSchema.strict().parse(forked)]).toMatchObject([201, { title: 'Maize' }]);
      const { sessionId } = forked;
      expect(sessionId).not.toBe(first);
      const copied = await ana.messages(sessionId);
      expect(copied.map(({ id, ...message }) => message)).toEqual(
        past.slice(0, 4).map(({ id, ...message }) => message),
      );
      expect(new Set([...past, ...copied].map(({ id }) => id)).size).toBe(10);

      await ana.say(sessionId, 'and cassava?');
      expect((await contentsOf(sessionId)).slice(4, 5)).toEqual(['and cassava?']);
      expect(await contentsOf(first)).toEqual(past.map(({ content }) => content));
      await ana.say(sessionId, 'and peas?', { replaces: copied[0].id });
      expect((await contentsOf(sessionId))[0]).toBe('and peas?');
      await ana.send('DELETE', `/sessions/${first}`);
      expect((await contentsOf(sessionId))[0]).toBe('and peas?');
    });

    test('has nothing that was replaced, and none of such a message is made', async () => {
      const first = await ana.createSession();
      await ana.say(first, 'one');
      const [question] = await ana.messages(first);
      await ana.say(first, 'two', { replaces: question.id });
      expect(await fork(ana, first, question.id)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
      const { sessionId } = (await fork(ana, first, (await ana.messages(first))[1].id)).body;
      expect(await contentsOf(sessionId)).toEqual(await contentsOf(first));
    });

    test('knows the summary of what it shares, and is not made of more than it may copy', async () => {
      const first = await ana.createSession();
      for (const text of ['one', 'two']) await ana.say(first, text);
      const past = await ana.messages(first);
      const store = await openStore<AgentDatabase>(agent.databaseUrl);
      const summary = {
        session_id: first,
        text: 'They counted.',
        up_to: past[1].id,
        capabilities: '[]',
        updated_at: 7,
      };
      await store.db.insertInto('agent_summary').values(summary).execute();
      const summaryAt = async ({ id }: { id: string }) => {
        const { sessionId } = (await fork(ana, first, id)).body;
        const own = store.db.selectFrom('agent_summary').selectAll().where('session_id', '=', sessionId);
        return { found: await own.executeTakeFirst(), sessionId };
      };
      const { found, sessionId } = await summaryAt(past[3]);
      expect(found).toMatchObject({ text: 'They counted.', up_to: (await ana.messages(sessionId))[1].id });
      expect((await summaryAt(past[0])).found).toBeUndefined();

      const content = 'x'.repeat(agentLimits.forkBytes);
      await store.db.updateTable('agent_message').set({ content }).where('id', '=', past[2].id).execute();
      expect(await fork(ana, first, past[3].id)).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });
      expect((await fork(ana, first, past[1].id)).status).toBe(201);
      // Small requests that store much are bounded in all.
      const own = store.db.updateTable('agent_session').where('id', '=', first);
      await own.set({ initial_bytes: agentLimits.initialBytes - 1 }).execute();
      expect(await fork(ana, first, past[0].id)).toMatchObject({ status: 429, body: { code: 'LIMIT_REACHED' } });
      await own.set({ initial_bytes: 0 }).execute();
      await store.close();
    });

    test('is made of the own sessions alone, within their limit, and erased with the user', async () => {
      await using small = await startTestAgent({ engine, env: { SESSIONS_PER_USER: '2' } });
      const [ben, eve] = [await small.createUser(), await small.createUser()];
      const first = await ben.createSession();
      await ben.say(first, 'hello');
      const [{ id }] = await ben.messages(first);
      expect(await fork(eve, first, id)).toMatchObject({ status: 404, body: { code: 'SESSION_NOT_FOUND' } });
      for (const none of ['', 7, undefined])
        expect((await fork(ben, first, none)).body).toMatchObject({ code: 'VALIDATION_FAILED' });
      const { sessionId } = (await fork(ben, first, id)).body;
      expect(await fork(ben, first, id)).toMatchObject({ status: 429, body: { code: 'LIMIT_REACHED' } });
      await ben.send('DELETE', '/me');
      const store = await openStore<AgentDatabase>(small.databaseUrl);
      const left = await store.db.selectFrom('agent_message').select('session_id').execute();
      await store.close();
      expect([first, sessionId].filter((gone) => left.some(({ session_id }) => session_id === gone))).toEqual([]);
    });

    test.each([
      ['session is deleted', '/sessions/'],
      ['user is erased', '/me'],
    ])('is not made where its %s meanwhile', async (_what, path) => {
      const user = await agent.createUser();
      const sessionId = await user.createSession();
      await user.say(sessionId, 'hello');
      const [{ id: messageId }] = await user.messages(sessionId);
      const store = await openStore<AgentDatabase>(agent.databaseUrl);
      const sessions = createSessionStore(store, {
        name: 'A',
        did: agent.did,
        keyDid: agent.did,
        signingDid: agent.did,
      });
      const reading: Reading = async (_bytes, read) => {
        const rows = await read();
        const { status } = await user.send('DELETE', path === '/me' ? path : path + sessionId);
        expect(status).toBe(200);
        return rows;
      };
      const session = await sessions.find(user.did, sessionId);
      if (!session) throw new Error('the session is missing');
      await expect(sessions.fork(user.did, session, { messageId, reading })).rejects.toMatchObject({
        code: 'SESSION_NOT_FOUND',
      });
      expect((await user.send('GET', '/sessions')).body.total).toBe(0);
      await store.close();
    });
  });

  test('deletes a session with everything in it', async () => {
    const sessionId = await ana.createSession();
    const runId = (await ana.say(sessionId, 'hello')).headers.get('x-run-id');
    expect((await ana.send('GET', `/runs/${runId}`)).status).toBe(200);

    expect(await ana.send('DELETE', `/sessions/${sessionId}`)).toMatchObject({
      status: 200,
      body: { ok: true, sessionId },
    });
    for (const [method, path, body] of [
      ['DELETE', `/sessions/${sessionId}`],
      ['GET', `/messages/${sessionId}`],
      ['GET', `/sessions/${sessionId}/messages`],
      ['GET', `/sessions/${sessionId}/run`],
      ['POST', `/messages/${sessionId}`, { message: 'hello' }],
      ['POST', '/messages/abort', { sessionId }],
    ] as const) {
      expect(await ana.send(method, path, body)).toMatchObject({ status: 404, body: { code: 'SESSION_NOT_FOUND' } });
    }
    expect(await ana.send('GET', `/runs/${runId}`)).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } });
  });

  test('of somebody else is not found, like one that does not exist', async () => {
    const sessionId = await ana.createSession();
    const runId = (await ana.say(sessionId, 'hello')).headers.get('x-run-id');
    const eve = await agent.createUser();
    const ids = [sessionId, '018f0000-0000-7000-8000-000000000000', 'x', "' or 1=1 --", '%00', 'a%2Fb', '🌽'];
    for (const id of ids) {
      const path = id.includes('%') ? id : encodeURIComponent(id);
      const replies = await Promise.all([
        eve.send('DELETE', `/sessions/${path}`),
        eve.send('GET', `/messages/${path}`),
        eve.send('GET', `/sessions/${path}/messages`),
        eve.send('GET', `/sessions/${path}/run`),
        eve.say(path, 'hello'),
        eve.say(path, 'hello', { stream: true }),
        eve.abort(id),
      ]);
      for (const reply of replies)
        expect(reply).toMatchObject({ status: 404, body: { statusCode: 404, code: 'SESSION_NOT_FOUND' } });
      // Byte for byte the same, whether it exists or not.
      expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    }
    for (const id of [runId, '018f0000-0000-7000-8000-000000000000', 'x', '%00'])
      expect(await eve.send('GET', `/runs/${id}`)).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } });
    expect((await eve.send('GET', '/sessions')).body).toMatchObject({ sessions: [], total: 0 });
    expect(await ana.messages(sessionId)).toHaveLength(2);
  });
});
