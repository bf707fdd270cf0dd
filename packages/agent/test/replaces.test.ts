import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { say, startOpenAiServer } from './openai-server.ts';
import { collectFrames } from './read-frames.ts';
import { startTestAgent } from './test-agent.ts';

const textsOf = (messages: { content: string }[]) => messages.map(({ content }) => content);

describe.each(engines)('a message in place of an earlier one on %s', (engine) => {
  test('takes it and everything behind it out of the conversation, for clients and the model alike', async () => {
    await using model = await startOpenAiServer(say('Seen.'));
    await using agent = await startTestAgent({ engine, env: { LLM_BASE_URL: model.url } });
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    const session = await ana.createSession();
    for (const text of ['one', 'two', 'three']) await ana.say(session, text);
    const before = await ana.messages(session);
    const replaces = before[2].id;
    const edit = { message: 'two, edited', replaces };
    const path = `/messages/${session}`;

    const reply = await ana.send('POST', path, edit, { 'idempotency-key': 'edit' });
    expect(reply.status).toBe(200);
    const asked = model.requests.at(-1)?.body.messages.map(({ content }: { content: unknown }) => content);
    expect(JSON.stringify(asked)).toContain('two, edited');
    expect(JSON.stringify(asked)).not.toMatch(/"two"|three/);
    const expected = ['one', 'Seen.', 'two, edited', 'Seen.'];
    const after = await ana.messages(session);
    expect(textsOf(after)).toEqual(expected);
    expect(after[2]).toMatchObject({ replaces });
    const page = (await ana.send('GET', `/sessions/${session}/messages?limit=3`)).body;
    expect(textsOf(page.messages)).toEqual(expected.slice(1));
    const older = (await ana.send('GET', `/sessions/${session}/messages?before=${page.prevCursor}`)).body;
    expect([textsOf(older.messages), older.hasOlder]).toEqual([['one'], false]);

    // Sent again with its key it is the same message; what has left the conversation cannot be replaced once more.
    const again = await ana.send('POST', path, edit, { 'idempotency-key': 'edit' });
    expect(again.body.message.id).toBe(reply.body.message.id);
    expect((await ana.send('POST', path, edit)).status).toBe(400);
    for (const id of [before[1].id, before[4].id, 'nothing'])
      expect((await ana.send('POST', path, { message: 'x', replaces: id })).status).toBe(400);
    const other = { message: 'x', replaces: after[0].id };
    expect((await ben.send('POST', `/messages/${await ben.createSession()}`, other)).status).toBe(400);
    expect(textsOf(await ana.messages(session))).toEqual(expected);

    await ana.send('POST', path, { message: 'first, edited', replaces: after[0].id });
    expect(textsOf(await ana.messages(session))).toEqual(['first, edited', 'Seen.']);
    const exported = (await ana.send('GET', '/me/export')).body.data;
    expect([exported.agent_message.length, exported.agent_replaced.length]).toEqual([10, 2]);
  });

  test('ends the run of what it replaces, and that answer is not part of the conversation', async () => {
    await using agent = await startTestAgent({ engine, env: { OFFLINE_WORDS_PER_SECOND: '20' } });
    const ana = await agent.createUser();
    const session = await ana.createSession();
    const [running, queued] = await Promise.all([ana.stream(session, '/long 5000'), ana.stream(session, '/long 4000')]);
    const [first] = await ana.messages(session);
    const reply = await ana.say(session, '/long 3', { replaces: first.id });
    expect(reply.body.message.content).toBe('word1 word2 word3');
    for (const response of [running, queued])
      expect((await collectFrames(response)).at(-1)).toMatchObject({ event: 'done', data: { status: 'aborted' } });
    expect(textsOf(await ana.messages(session))).toEqual(['/long 3', 'word1 word2 word3']);
  });
});
