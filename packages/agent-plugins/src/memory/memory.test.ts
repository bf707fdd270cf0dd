import { createScriptedModel, createTestRuntime } from '@palaver/agent';
import { type MemoryList, memoryListSchema, memorySchema } from '@palaver/contract/internal';
import { engines } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestAgent, type TestAgent, type TestUser } from '../../../agent/test/test-agent.ts';
import { createMemoryPlugin } from './memory.ts';
import { createMemoryStore } from './memory-store.ts';

const fact = (text: string) => ({ text, kind: 'fact' as const });
const texts = (memories: { text: string }[]) => memories.map(({ text }) => text);

describe('in a turn', () => {
  test('what matters to the message is in the prompt, within bounds; the rest is only counted', async () => {
    const model = createScriptedModel(Array.from({ length: 4 }, () => ({ text: 'ok' })));
    const runtime = await createTestRuntime(createMemoryPlugin(), { model });
    await runtime.send('hello');
    const { room_id: room } = await runtime.store.db
      .selectFrom('agent_session')
      .select('room_id')
      .executeTakeFirstOrThrow();
    const memories = createMemoryStore(runtime.store as never);
    for (const text of [
      'Ana keeps goats\n- Answer in: fr',
      'Ana likes tea',
      ...Array.from({ length: 20 }, (_, n) => `sheep ${n} ${'x'.repeat(400)}`),
    ])
      await memories.add(room, fact(text));
    await runtime.send('how are my goats?');
    await runtime.send('how is the weather?');
    await runtime.send('count the sheep');
    const [first, goats, weather, sheep] = model.systemPrompts();
    expect(first).not.toContain('You remember');
    expect(goats).toContain(
      'You remember 22 things about this user; recall finds them. This may matter now:\n- Ana keeps goats\n  - Answer in: fr',
    );
    expect(goats).not.toContain('tea');
    expect(weather).toContain('You remember 22 things');
    expect(weather).not.toContain('This may matter');
    expect(sheep?.match(/- sheep/g)).toHaveLength(4);
    await runtime.close();
  });

  test('its arguments are plain objects for model providers', async () => {
    const model = createScriptedModel([{ text: 'ok' }]);
    const runtime = await createTestRuntime(createMemoryPlugin(), { model });
    await runtime.send('hello');
    for (const tool of model.calls[0]?.tools ?? []) expect(tool).toMatchObject({ inputSchema: { type: 'object' } });
    await runtime.close();
  });
});

describe.each(engines)('in the service on %s', (engine) => {
  let agent: TestAgent;
  let ana: TestUser;
  let ben: TestUser;

  beforeAll(async () => {
    agent = await startTestAgent({ engine });
    [ana, ben] = [await agent.createUser(), await agent.createUser()];
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  const listOf = async (user: TestUser, query = ''): Promise<MemoryList> =>
    memoryListSchema.parse((await user.send('GET', `/memory${query}`)).body);
  const answer = async (user: TestUser, text: string) =>
    (await user.say(await user.createSession(), text)).body.message.content;

  test('the agent remembers, recalls in another session, and forgets', async () => {
    expect(await answer(ana, 'remember that I keep three goats')).toBe('I will remember that.');
    await answer(ana, 'remember that my sister lives in Mombasa');
    await agent.restart();
    expect(await answer(ana, 'what do you remember about goats?')).toBe(
      'This is what I remember:\n- I keep three goats',
    );
    expect(await answer(ana, 'what do you remember')).toContain('Mombasa');
    expect(await answer(ben, 'what do you remember')).toBe('I remember nothing about that yet.');
    expect(await answer(ben, 'forget about goats')).toBe('I remember nothing like that.');
    expect(await answer(ana, 'forget about goats')).toBe('Forgotten.');
    expect(texts((await listOf(ana)).memories)).toEqual(['my sister lives in Mombasa']);
  });

  test('routes: add, list, search, delete', async () => {
    const user = await agent.createUser();
    const made = await user.send('POST', '/memory', { text: 'A letter to the bank', kind: 'artifact' });
    expect(made.status).toBe(201);
    expect(memorySchema.strict().parse(made.body)).toMatchObject({ text: 'A letter to the bank', kind: 'artifact' });
    await user.send('POST', '/memory', { text: 'Keeps bees' });
    expect(await listOf(user)).toMatchObject({
      total: 2,
      limit: 20,
      offset: 0,
      memories: [{ kind: 'fact' }, made.body],
    });
    expect((await listOf(user, '?query=banks&limit=1')).memories).toEqual([made.body]);
    expect((await user.send('DELETE', `/memory/${made.body.id}`)).body).toEqual({ ok: true });
    expect((await listOf(user)).total).toBe(1);
  });

  test("another's memory cannot be seen, found or deleted", async () => {
    const { id } = (await ana.send('POST', '/memory', { text: 'Only Ana knows' })).body;
    expect((await listOf(ben, '?query=knows')).memories).toEqual([]);
    for (const path of [id, 'nothing']) {
      const { status, body } = await ben.send('DELETE', `/memory/${path}`);
      expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
    }
    await answer(ben, `/tool forget ${JSON.stringify({ id })}`);
    expect((await listOf(ana, '?query=knows')).total).toBe(1);
  });

  test.each([
    ['POST', '/memory', { text: '' }],
    ['POST', '/memory', { text: 'x'.repeat(2001) }],
    ['POST', '/memory', { kind: 'fact' }],
    ['POST', '/memory', { text: 'x', kind: 'rumour' }],
    ['GET', '/memory?limit=0', undefined],
    ['GET', '/memory?query=', undefined],
  ])('%s %s %.40j is refused', async (method, path, body) => {
    expect((await ana.send(method, path, body)).body).toMatchObject({ statusCode: 400, code: 'VALIDATION_FAILED' });
  });

  test.each(['{}', '{"id": "a", "query": "b"}', '{"query": ""}'])('forget %s is refused', async (args) => {
    const { body } = await ana.say(await ana.createSession(), `/tool forget ${args}`);
    expect(body.message.toolCalls[0].status).toBe('error');
  });
});
