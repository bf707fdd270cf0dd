import { randomUUID } from 'node:crypto';
import { messageSchema, sendMessageReplySchema } from '@palaver/contract';
import { messagePageSchema } from '@palaver/contract/internal';
import { engines } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const nulPlugin = {
  name: 'nul',
  version: '1.0.0',
  manifest: {
    title: 'Nul',
    summary: 'Gives U+0000.',
    whenToUse: [],
    visibility: 'silent' as const,
    stability: 'stable' as const,
  },
  getTools: () => ({ nul: { description: 'Gives U+0000.', inputSchema: z.object({}), execute: () => 'a\0b\ud800c' } }),
};

describe.each(engines)('messages on %s', (engine) => {
  let agent: TestAgent;
  let ana: TestUser;

  beforeAll(async () => {
    agent = await startTestAgent({ engine, plugins: [nulPlugin] });
    ana = await agent.createUser();
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  test('a question gets the id that the client chose; one that is taken changes nothing', async () => {
    const [sessionId, eve] = [await ana.createSession(), await agent.createUser()];
    const messageId = randomUUID();
    const send = (user: TestUser, to: string, message: string, id = messageId) =>
      user.send('POST', `/messages/${to}`, { message, messageId: id });
    expect((await send(ana, sessionId, 'first')).status).toBe(200);
    const before = await ana.messages(sessionId);
    expect(before).toMatchObject([{ id: messageId, content: 'first' }, { type: 'ai' }]);
    const other = await ana.createSession();
    const foreign = await eve.createSession();
    for (const [user, to] of [
      [ana, sessionId],
      [ana, other],
      [eve, foreign],
    ] as const) {
      expect(await send(user, to, 'changed')).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
      expect(await user.liveRun(to)).toBeNull();
    }
    // At once, in several sessions: one of them has it.
    const shared = randomUUID();
    const atOnce = await Promise.all([other, sessionId, other].map((to) => send(ana, to, 'at once', shared)));
    expect(atOnce.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    const all = [...(await ana.messages(sessionId)), ...(await ana.messages(other))];
    expect(all.filter(({ id }) => id === shared)).toHaveLength(1);
    expect((await ana.messages(sessionId)).slice(0, 2)).toEqual(before);
    expect(await eve.messages(foreign)).toEqual([]);
    // Ids that the service makes have another version: none of them can be chosen.
    for (const id of [before[1].id, 'nonsense', messageId.toUpperCase(), ''])
      expect(await send(ana, other, 'x', id)).toMatchObject({ status: 400, body: { issues: [{ path: 'messageId' }] } });
    const edited = await ana.say(sessionId, 'edited', { replaces: messageId });
    expect(edited.status).toBe(200);
    expect((await ana.messages(sessionId)).at(-2)).toMatchObject({ content: 'edited', replaces: messageId });
  });

  test('U+0000 in an id or a text is never a fault of the service', async () => {
    const sessionId = await ana.createSession();
    const runId = (await ana.stream(sessionId, 'hello')).headers.get('x-run-id');
    const asked: [string, string, object?][] = [
      ...['approvals/%00', `approvals/${randomUUID()}%00`].map((path): [string, string, object] => [
        'POST',
        `/runs/${runId}/${path}`,
        { approved: false, reason: 'a\0b' },
      ]),
      ['POST', `/runs/%00/approvals/%00`, { approved: true, reason: '\0', invocation: '\0' }],
      ['GET', '/runs/%00'],
      ...['/tasks/%00', '/memory/%00', '/files/%00', '/sessions/%00', '/delegation/%00', '/calls/%00'].map(
        (path): [string, string] => ['DELETE', path],
      ),
      ['PATCH', `/sessions/${sessionId}`, { title: 'a\0b' }],
      ['POST', '/sessions', { title: 't', metadata: { '\0': '\0' } }],
      ['POST', '/memory', { text: 'a\0b' }],
      ['GET', '/memory?query=%00'],
      ['GET', `/sessions/${sessionId}/messages?before=%00`],
      ['POST', '/messages/abort', { sessionId: '\0', runId: '\0' }],
      ['POST', `/messages/${sessionId}`, { message: 'x', replaces: '\0', metadata: { a: '\0' } }],
    ];
    for (const [method, path, body] of asked) {
      const { status } = await ana.send(method, path, body);
      expect([method, path, status < 500]).toEqual([method, path, true]);
    }
    expect(agent.log()).not.toContain('"level":"error"');
  });

  test('a send without stream answers with the message', async () => {
    const sessionId = await ana.createSession();
    const { status, headers, body } = await ana.send(
      'POST',
      `/messages/${sessionId}`,
      { message: 'hello' },
      { 'x-request-id': 'request 1' },
    );
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(sendMessageReplySchema.strict().parse(body)).toEqual(body);
    expect(body).toMatchObject({ sessionId, requestId: 'request 1' });
    expect(body.message).toMatchObject({ type: 'ai', status: 'complete', requestId: 'request 1' });
    expect(body.message.content).toContain('no language model is configured'.slice(3));
    expect(headers.get('x-request-id')).toBe('request 1');
  });

  test('a question from a phone is answered in its language, shortly, and never in words of developers', async () => {
    const sessionId = await ana.createSession();
    const metadata = { client: 'phone', channel: 'ussd', language: 'sw', screenCharacters: 182 };
    for (const message of ['Bei ya mahindi?', '/tool nul {}', 'help']) {
      const { body } = await ana.send('POST', `/messages/${sessionId}`, { message, metadata });
      expect(body.message.content).toMatch(/^Hapa naweza kusaidia/);
      expect(body.message.content.length).toBeLessThanOrEqual(182);
      expect(body.message.content).not.toMatch(/LLM_|json|\/tool/);
    }
  });

  test('returnAllMessages adds the transcript; a repeated request id is no matter', async () => {
    const sessionId = await ana.createSession();
    const id = { 'x-request-id': 'the same' };
    await ana.send('POST', `/messages/${sessionId}`, { message: 'one' }, id);
    const path = `/messages/${sessionId}`;
    const { body } = await ana.send('POST', path, { message: 'two', returnAllMessages: true }, id);
    expect(body.messages.map(({ type, content }: Record<string, string>) => [type, content])).toEqual([
      ['human', 'one'],
      ['ai', expect.any(String)],
      ['human', 'two'],
      ['ai', body.message.content],
    ]);
    expect((await ana.send('GET', path)).body).toEqual({ messages: body.messages });
    for (const message of body.messages) expect(messageSchema.strict().parse(message)).toEqual(message);
  });

  test('tool calls and reasoning are kept with the message', async () => {
    const sessionId = await ana.createSession();
    const { message } = (await ana.say(sessionId, 'call me Ana')).body;
    expect(message.toolCalls).toEqual([
      {
        id: expect.any(String),
        name: 'set_user_preferences',
        args: { userName: 'Ana' },
        status: 'done',
        output: expect.objectContaining({ userName: 'Ana' }),
      },
    ]);
    expect(message.reasoning).toEqual(expect.any(String));
    expect((await ana.messages(sessionId))[1]).toEqual(message);
  });

  test.each([
    ['one character', 'x'],
    ['32,000 code points outside the basic plane', '🌽'.repeat(32_000)],
    ['line breaks, quotes and half a surrogate', 'a\r\n\t"\\\u2028 \u0001 ü 漢'],
  ])('%s is taken and given back as it was', async (_what, message) => {
    const sessionId = await ana.createSession();
    expect((await ana.say(sessionId, message)).status).toBe(200);
    expect((await ana.messages(sessionId))[0].content).toBe(message);
  });

  test('an answer with characters that no database can store is kept without them', async () => {
    const sessionId = await ana.createSession();
    expect((await ana.say(sessionId, '/tool nul')).body.message.status).toBe('complete');
    const stored = (await ana.messages(sessionId))[1];
    expect(stored).toMatchObject({ type: 'ai', status: 'complete' });
    expect(stored.content).toMatch(/^nul: a.b.c$/);
  });

  test.each([
    [{}, 'message'],
    [{ message: '' }, 'message'],
    [{ message: 'x'.repeat(32_001) }, 'message'],
    [{ message: 'a\0b' }, 'message'],
    [{ message: 7 }, 'message'],
    [{ message: 'x', stream: 'true' }, 'stream'],
    [{ message: 'x', returnAllMessages: 1 }, 'returnAllMessages'],
    [{ message: 'x', timezone: 'Mars/Olympus' }, 'timezone'],
    [{ message: 'x', metadata: [] }, 'metadata'],
    [{ message: 'x', tools: [{ name: 'ok', description: '', schema: {} }, { name: 'not ok' }] }, 'tools.1.name'],
    [{ message: 'x', agActions: {} }, 'agActions'],
    [{ message: 'x', attachments: [{ filename: 'f', mimetype: 'text/plain' }] }, 'attachments.0'],
    [{ message: 'x', attachments: Array(11).fill(attachment()) }, 'attachments'],
    [{ message: 'x', mcpInvocations: { a__b: 1 } }, 'mcpInvocations.a__b'],
  ])('%.80j is refused with the dotted path of the fault', async (body, path) => {
    const sessionId = await ana.createSession();
    for (const stream of [{}, { stream: true }]) {
      const refused = await ana.send('POST', `/messages/${sessionId}`, { ...stream, ...body });
      expect(refused).toMatchObject({ status: 400, body: { statusCode: 400, code: 'VALIDATION_FAILED' } });
      expect(refused.body.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    }
    expect(await ana.messages(sessionId)).toEqual([]);
  });

  test('unknown fields are ignored', async () => {
    const sessionId = await ana.createSession();
    const reply = await ana.say(sessionId, 'x', { agentId: 7, extra: { deep: [] }, oracleDid: null });
    expect(reply.status).toBe(200);
  });

  test('an unknown model or time zone in the header is refused before anything runs', async () => {
    const sessionId = await ana.createSession();
    expect(await ana.say(sessionId, 'x', { model: 'gpt-99', stream: true })).toMatchObject({
      status: 400,
      body: { code: 'MODEL_UNKNOWN' },
    });
    const path = `/messages/${sessionId}`;
    const zone = await ana.send('POST', path, { message: 'x' }, { 'x-timezone': 'Mars/Olympus' });
    expect(zone).toMatchObject({ status: 400, body: { issues: [{ path: 'x-timezone' }] } });
    const overruled = { message: 'x', timezone: 'Africa/Nairobi' };
    expect((await ana.send('POST', path, overruled, { 'x-timezone': 'Mars/Olympus' })).status).toBe(200);
  });

  test('pages go from the newest to the oldest and back, oldest first inside each', async () => {
    const sessionId = await ana.createSession();
    for (const text of ['1', '2', '3', '4']) await ana.say(sessionId, text);
    const { messages } = (await ana.send('GET', `/messages/${sessionId}`)).body;
    const page = async (query: string) => {
      const { status, body } = await ana.send('GET', `/sessions/${sessionId}/messages?${query}`);
      expect(status).toBe(200);
      expect(messagePageSchema.strict().parse(body)).toEqual(body);
      return body;
    };

    const newest = await page('limit=3');
    expect(newest).toMatchObject({ messages: messages.slice(5), nextCursor: null, hasOlder: true, hasNewer: false });
    const middle = await page(`limit=3&before=${newest.prevCursor}`);
    expect(middle).toMatchObject({ messages: messages.slice(2, 5), hasOlder: true, hasNewer: true });
    const oldest = await page(`limit=3&before=${middle.prevCursor}`);
    expect(oldest).toMatchObject({ messages: messages.slice(0, 2), prevCursor: null, hasOlder: false, hasNewer: true });
    expect((await page(`limit=3&after=${oldest.nextCursor}`)).messages).toEqual(messages.slice(2, 5));
    expect((await page(`limit=3&after=${middle.nextCursor}`)).messages).toEqual(messages.slice(5));

    expect((await page('')).messages).toEqual(messages);
    const empty = await ana.createSession();
    expect((await ana.send('GET', `/sessions/${empty}/messages`)).body).toEqual({
      messages: [],
      prevCursor: null,
      nextCursor: null,
      hasOlder: false,
      hasNewer: false,
    });
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['before=x', 'before'],
    ['after=x', 'after'],
    ['after=%00', 'after'],
    ['before=', 'before'],
    ['before=a&before=b', 'before'],
    ['before=a&after=b', 'after'],
  ])('?%s of a page is refused by name', async (query, path) => {
    const sessionId = await ana.createSession();
    const refused = await ana.send('GET', `/sessions/${sessionId}/messages?${query}`);
    expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', issues: [{ path }] } });
  });
});

function attachment() {
  return { mxcUri: 'mxc://h.example/a', filename: 'f', mimetype: 'text/plain' };
}
