import { setTimeout as sleep } from 'node:timers/promises';
import { serverEventPayloadSchemas } from '@palaver/contract/internal';
import { waitFor } from '@palaver/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/index.ts';
import { openSocket, type TestSocket } from './connect-socket.ts';
import { collectFrames } from './read-frames.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const declared = { name: 'pick_colour', description: 'Asks for a colour.', schema: { type: 'object' } };
const kinds = [
  { event: 'browser_tool_call', answer: 'tool_result', body: { tools: [declared] } },
  { event: 'action_call', answer: 'action_call_result', body: { agActions: [declared] } },
] as const;

/** Its tool sends calls to the page and does not wait for them. */
const pointer = defineOraclePlugin({
  name: 'pointer',
  version: '1.0.0',
  manifest: { title: 'Pointer', summary: 'Points.', whenToUse: ['never'], visibility: 'always', stability: 'stable' },
  getTools: () => ({
    point: {
      description: 'Points at something on the page.',
      inputSchema: z.object({}),
      execute(_args, { emit, toolCallId }) {
        const call = { toolName: 'highlight', args: { at: 'roof' } };
        for (const [kind, send] of [
          ['action', emit.actionCall],
          ['tool', emit.browserToolCall],
        ] as const) {
          const own = { ...call, toolCallId: `${toolCallId}-${kind}` };
          // Said twice, and its end: the page is asked once.
          for (const status of ['isRunning', 'isRunning', 'done'] as const) send({ ...own, status });
        }
        return 'pointed';
      },
    },
  }),
});

const opened: TestSocket[] = [];
let agent: TestAgent;
let ana: TestUser;
let sessionId: string;

beforeAll(async () => {
  agent = await startTestAgent({ env: { BROWSER_TOOL_TIMEOUT_MS: '3000' }, plugins: [pointer] });
  ana = await agent.createUser();
});
afterEach(() => {
  for (const { socket } of opened.splice(0)) socket.close();
});
afterAll(() => agent[Symbol.asyncDispose]());

async function connect(user = ana, to = sessionId): Promise<TestSocket> {
  const page = openSocket(agent.url, { query: { sessionId: to }, auth: { invocation: user.invocation } });
  opened.push(page);
  await page.event('connected');
  return page;
}

describe.each(kinds)('a $event', ({ event, answer, body }) => {
  const ask = async () => collectFrames(await ana.stream(sessionId, '/tool pick_colour {"of":"roof"}', body));
  const outcomes = (frames: Awaited<ReturnType<typeof collectFrames>>) =>
    frames.filter((frame) => frame.event === event).map(({ data }) => data);

  test('goes once, to the page that connected last, and its outcome to the stream', async () => {
    sessionId = await ana.createSession();
    const [older, latest] = [await connect(), await connect()];
    const eve = await agent.createUser();
    const stranger = await connect(eve, await eve.createSession());
    latest.socket.on(event, ({ toolCallId }) => latest.socket.emit(answer, { sessionId, toolCallId, result: ['red'] }));
    const frames = await ask();
    const calls = outcomes(frames);
    const call = { sessionId, toolName: 'pick_colour', args: { of: 'roof' } };
    expect(calls).toMatchObject([
      { ...call, status: 'isRunning' },
      { ...call, status: 'done', output: ['red'], toolCallId: calls[0].toolCallId },
    ]);
    const requests = latest.events.filter(({ name }) => name === event).map(({ payload }) => payload);
    expect(requests).toHaveLength(1);
    const { eventName, payload, ...flat } = requests[0] ?? {};
    expect(eventName).toBe(event);
    expect(payload).toEqual(flat);
    expect(serverEventPayloadSchemas[event].strict().parse(payload)).toMatchObject({
      ...call,
      toolCallId: calls[0].toolCallId,
    });
    for (const page of [older, stranger]) expect(page.events.some(({ name }) => name === event)).toBe(false);
    expect(frames.some((frame) => frame.event === 'tool_call')).toBe(false);
    const { messages } = (await ana.send('GET', `/messages/${sessionId}`)).body;
    expect(messages[1].toolCalls).toMatchObject([{ name: 'pick_colour', status: 'done', output: ['red'] }]);
  });

  test('goes to the page that sent the message, and to the latest once that one has gone', async () => {
    sessionId = await ana.createSession();
    const [sender, latest] = [await connect(), await connect()];
    const { socketId } = await sender.event('connected');
    expect(socketId).toBe(sender.socket.id);
    for (const [name, page] of Object.entries({ sender, latest }))
      page.socket.on(event, ({ toolCallId }) => page.socket.emit(answer, { sessionId, toolCallId, result: name }));
    const send = async (from: unknown) => {
      const headers = { 'x-socket-id': String(from) };
      const path = `/messages/${sessionId}`;
      const { body: reply } = await ana.send('POST', path, { message: '/tool pick_colour {}', ...body }, headers);
      return reply.message.toolCalls[0].output;
    };
    expect(await send(socketId)).toBe('sender');
    // Nobody reaches a socket of another session by its id.
    const eve = await agent.createUser();
    const stranger = await connect(eve, await eve.createSession());
    expect(await send(stranger.socket.id)).toBe('latest');
    expect(stranger.events.some(({ name }) => name === event)).toBe(false);
    sender.socket.close();
    await waitFor('the sender to be gone', async () => (await latest.ask('status', 'status')).totalConnections === 2);
    expect(await send(socketId)).toBe('latest');
  });

  test('has a new id every time', async () => {
    sessionId = await ana.createSession();
    const page = await connect();
    page.socket.on(event, ({ toolCallId }) => page.socket.emit(answer, { sessionId, toolCallId, result: 1 }));
    const ids = new Set<string>();
    for (let count = 0; count < 3; count += 1) ids.add(outcomes(await ask())[0].toolCallId);
    expect(ids.size).toBe(3);
  });

  test('without a page is an error at once, and the turn continues', async () => {
    sessionId = await ana.createSession();
    const frames = await ask();
    expect(outcomes(frames).at(-1)).toMatchObject({ status: 'error', error: expect.any(String) });
    expect(frames.at(-1)?.data.status).toBe('complete');
    const page = await connect();
    page.socket.close();
    await sleep(50);
    expect(outcomes(await ask()).at(-1)).toMatchObject({ status: 'error' });
  });

  test('that is not answered in time is an error; a late answer is ignored', async () => {
    sessionId = await ana.createSession();
    const page = await connect();
    const frames = await ask();
    expect(outcomes(frames).at(-1)).toMatchObject({ status: 'error', error: expect.stringMatching(/did not answer/) });
    expect(frames.at(-1)?.data.status).toBe('complete');
    page.socket.emit(answer, { sessionId, toolCallId: outcomes(frames)[0].toolCallId, result: 'late' });
    await page.ask('ping', 'pong');
  });

  test('takes the first answer only, and only of its own session', async () => {
    sessionId = await ana.createSession();
    const elsewhere = await connect(ana, await ana.createSession());
    const eve = await agent.createUser();
    const stranger = await connect(eve, await eve.createSession());
    const page = await connect();
    page.socket.on(event, async ({ toolCallId }) => {
      for (const other of [elsewhere, stranger]) {
        other.socket.emit(answer, { sessionId, toolCallId, result: 'foreign' });
        await other.ask('ping', 'pong');
      }
      page.socket.emit(answer, { sessionId, toolCallId, result: 'first' });
      page.socket.emit(answer, { sessionId, toolCallId, result: 'second' });
    });
    expect(outcomes(await ask()).at(-1)).toMatchObject({ status: 'done', output: 'first' });
  });

  test.each([
    ['more than 256 KiB', 'x'.repeat(256 * 1024 + 1)],
    ['more than 256 KiB of UTF-8', 'ü'.repeat(140 * 1024)],
    ['as much as a body may hold', 'x'.repeat(1024 * 1024)],
  ])('that answers with %s is an error', async (_what, result) => {
    sessionId = await ana.createSession();
    const page = await connect();
    page.socket.on(event, ({ toolCallId }) => page.socket.emit(answer, { sessionId, toolCallId, result }));
    expect(outcomes(await ask()).at(-1)).toMatchObject({ status: 'error', error: expect.stringMatching(/256 KiB/) });
    expect((await page.ask('ping', 'pong')).eventName).toBe('pong');
  });

  test('that answers with a hundred thousand brackets does no harm', async () => {
    sessionId = await ana.createSession();
    const page = await connect();
    page.socket.on(event, ({ toolCallId }) => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      const packet = `42["${answer}",{"sessionId":"${sessionId}","toolCallId":"${toolCallId}","result":${deep}}]`;
      // As raw text: the client's own encoder cannot write it.
      page.socket.io.engine.write(packet.slice(1));
    });
    expect(outcomes(await ask()).at(-1)).toMatchObject({ status: 'error' });
    expect((await ana.send('GET', '/sessions')).status).toBe(200);
  });

  test('stops with its turn', async () => {
    sessionId = await ana.createSession();
    const page = await connect();
    page.socket.on(event, () => void ana.abort(sessionId));
    const frames = await ask();
    expect(outcomes(frames).at(-1)).toMatchObject({ status: 'error' });
    expect(frames.at(-1)?.data.status).toBe('aborted');
  });
});

test.each([
  ['in words', 'the user closed the box'],
  ['by what it caught', { message: 'the user closed the box', name: 'AbortError' }],
  ['by something else', { reason: 'the user closed the box' }],
])('a page that says why it failed, %s, is quoted to the model', async (_how, error) => {
  sessionId = await ana.createSession();
  const page = await connect();
  page.socket.on('browser_tool_call', ({ toolCallId }) =>
    page.socket.emit('tool_result', { toolCallId, result: null, error }),
  );
  const frames = await collectFrames(await ana.stream(sessionId, '/tool pick_colour', { tools: [declared] }));
  expect(frames.filter((frame) => frame.event === 'browser_tool_call').at(-1)?.data.error).toContain(
    'the user closed the box',
  );
});

test('what a plugin sends by emit reaches one page of the session, once', async () => {
  sessionId = await ana.createSession();
  // Without a page it is in the stream alone.
  expect((await ana.say(sessionId, '/tool point {}')).body.message.toolCalls).toMatchObject([
    { name: 'point', status: 'done' },
    { name: 'highlight', status: 'done' },
    { name: 'highlight', status: 'done' },
  ]);
  const [older, latest] = [await connect(), await connect()];
  const eve = await agent.createUser();
  const stranger = await connect(eve, await eve.createSession());
  const requestsOf = ({ events }: TestSocket) =>
    events.filter(({ name }) => name === 'action_call' || name === 'browser_tool_call');
  const { socketId } = await older.event('connected');
  const headers = { 'x-socket-id': String(socketId) };
  await ana.send('POST', `/messages/${sessionId}`, { message: '/tool point {}' }, headers);
  await waitFor('both requests', () => requestsOf(older).length >= 2);
  await ana.say(sessionId, '/tool point {}');
  await waitFor('both requests', () => requestsOf(latest).length >= 2);
  for (const page of [older, latest]) {
    await page.ask('ping', 'pong');
    expect(requestsOf(page).map(({ name }) => name)).toEqual(['action_call', 'browser_tool_call']);
    for (const { name, payload } of requestsOf(page)) {
      const { payload: inner } = payload as { payload: object };
      const schema = serverEventPayloadSchemas[name as 'action_call' | 'browser_tool_call'];
      expect(schema.strict().parse(inner)).toMatchObject({ sessionId, toolName: 'highlight', args: { at: 'roof' } });
    }
  }
  expect(requestsOf(stranger)).toEqual([]);
});
