import { waitFor } from '@palaver/test-kit';
import type { Socket } from 'socket.io-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openSocket } from '../../../agent/test/connect-socket.ts';
import { type Frame, streamTurn, textOf } from '../../../agent/test/read-frames.ts';
import { startTestAgent, type TestAgent, type TestUser } from '../../../agent/test/test-agent.ts';

const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const tools = [{ name: 'read_page', description: 'Reads the page', schema }];
const agActions = [{ name: 'show_chart', description: 'Shows a chart', schema, hasRender: true }];
const declared = { tools, agActions };
const useReadPage = '/tool read_page {"text":"title"}';

let agent: TestAgent;
const sockets: Socket[] = [];

beforeAll(async () => {
  agent = await startTestAgent();
});

afterAll(() => agent[Symbol.asyncDispose]());

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.disconnect();
});

interface Page {
  socket: Socket;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came over the wire.
  calls: any[];
}

/** A page of the user, connected to a session; `answer` is what it does with a request. */
async function openPage(
  user: TestUser,
  sessionId: string,
  answer: (call: Page['calls'][number], socket: Socket) => void = () => {},
  url = agent.url,
): Promise<Page> {
  const { socket, event: received } = openSocket(url, { query: { sessionId }, auth: { invocation: user.invocation } });
  sockets.push(socket);
  const page: Page = { socket, calls: [] };
  for (const event of ['browser_tool_call', 'action_call']) {
    socket.on(event, (call) => {
      page.calls.push({ event, ...call });
      answer(call, socket);
    });
  }
  await received('connected');
  return page;
}

async function startUser(): Promise<{ user: TestUser; sessionId: string }> {
  const user = await agent.createUser();
  return { user, sessionId: await user.createSession() };
}

function outcomeOf(frames: Frame[], event: string): Frame['data'] {
  return frames.findLast((frame) => frame.event === event)?.data;
}

async function countIgnored(url = agent.url): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^agent_ignored_client_results_total\S* (\d+)$/m.exec(text)?.[1]);
}

describe('a browser tool', () => {
  it('runs on the page and its result goes to the model; the stream has both', async () => {
    const { user, sessionId } = await startUser();
    const page = await openPage(user, sessionId, ({ toolCallId, args }, socket) =>
      socket.emit('tool_result', { toolCallId, result: { seen: args.text } }),
    );
    const frames = await streamTurn(user, sessionId, useReadPage, declared);
    const calls = frames.filter(({ event }) => event === 'browser_tool_call').map(({ data }) => data);
    expect(calls).toMatchObject([
      { sessionId, toolName: 'read_page', args: { text: 'title' }, status: 'isRunning' },
      { toolCallId: calls[0].toolCallId, status: 'done', output: { seen: 'title' } },
    ]);
    expect(frames.some(({ event }) => event === 'tool_call')).toBe(false);
    expect(textOf(frames)).toContain('{"seen":"title"}');
    const call = { sessionId, toolCallId: calls[0].toolCallId, toolName: 'read_page', args: { text: 'title' } };
    expect(page.calls).toMatchObject([
      { ...call, event: 'browser_tool_call', eventName: 'browser_tool_call', payload: call },
    ]);
    const [, answer] = await user.messages(sessionId);
    expect(answer.toolCalls).toMatchObject([{ id: call.toolCallId, name: 'read_page', status: 'done' }]);
  });

  it('is asked of one page only: the latest of that user and session', async () => {
    const { user, sessionId } = await startUser();
    const stranger = await startUser();
    const answer = ({ toolCallId }: { toolCallId: string }, socket: Socket) =>
      socket.emit('tool_result', { toolCallId, result: 'mine' });
    const older = await openPage(user, sessionId, answer);
    const elsewhere = await openPage(user, await user.createSession(), answer);
    const strange = await openPage(stranger.user, stranger.sessionId, answer);
    const latest = await openPage(user, sessionId, answer);
    await streamTurn(user, sessionId, useReadPage, declared);
    expect(latest.calls).toHaveLength(1);
    latest.socket.disconnect();
    await waitFor('the older page to be the latest', async () => {
      await streamTurn(user, sessionId, useReadPage, declared);
      return older.calls.length > 0;
    });
    expect([elsewhere.calls, strange.calls]).toEqual([[], []]);
  });

  it('without a page fails at once, and the turn continues', async () => {
    const { user, sessionId } = await startUser();
    const frames = await streamTurn(user, sessionId, useReadPage, declared);
    expect(outcomeOf(frames, 'browser_tool_call')).toMatchObject({ status: 'error' });
    expect(textOf(frames)).toContain('BROWSER_NOT_CONNECTED');
    expect(frames.at(-1)?.data.status).toBe('complete');
  });

  it('gets only arguments that fit its schema', async () => {
    const { user, sessionId } = await startUser();
    const page = await openPage(user, sessionId);
    const frames = await streamTurn(user, sessionId, '/tool read_page {"text":5}', declared);
    expect(textOf(frames)).toContain('arguments are not valid');
    expect(page.calls).toEqual([]);
  });

  it('does not take the place of a tool of the agent', async () => {
    const { user, sessionId } = await startUser();
    const page = await openPage(user, sessionId);
    const fake = [{ name: 'set_user_preferences', description: 'x', schema }];
    const frames = await streamTurn(user, sessionId, 'call me Ana', { tools: fake });
    expect(outcomeOf(frames, 'tool_call')).toMatchObject({ toolName: 'set_user_preferences', status: 'done' });
    expect(page.calls).toEqual([]);
  });

  it('is a tool of its turn alone', async () => {
    const { user, sessionId } = await startUser();
    await openPage(user, sessionId);
    expect(textOf(await streamTurn(user, sessionId, useReadPage))).toContain('There is no tool');
  });

  it('larger than 256 KiB is an error, up to that it is not', async () => {
    const { user, sessionId } = await startUser();
    let size = 256 * 1024 - 2; // two quotes around it
    await openPage(user, sessionId, ({ toolCallId }, socket) =>
      socket.emit('tool_result', { toolCallId, result: 'x'.repeat(size) }),
    );
    const fits = await streamTurn(user, sessionId, useReadPage, declared);
    expect(outcomeOf(fits, 'browser_tool_call').status).toBe('done');
    size += 1;
    const tooLarge = await streamTurn(user, sessionId, useReadPage, declared);
    expect(outcomeOf(tooLarge, 'browser_tool_call')).toMatchObject({ status: 'error' });
    expect(textOf(tooLarge)).toContain('TOOL_RESULT_TOO_LARGE');
  });
});

describe('an AG-UI action', () => {
  it('runs on the page and its result goes to the model', async () => {
    const { user, sessionId } = await startUser();
    const page = await openPage(user, sessionId, ({ toolCallId }, socket) =>
      socket.emit('action_call_result', { sessionId, toolCallId, result: { shown: true } }),
    );
    const frames = await streamTurn(user, sessionId, '/tool show_chart {"text":"sales"}', declared);
    expect(page.calls).toMatchObject([{ event: 'action_call', toolName: 'show_chart', status: 'isRunning' }]);
    expect(outcomeOf(frames, 'action_call')).toMatchObject({ status: 'done', output: { shown: true } });
    expect(textOf(frames)).toContain('{"shown":true}');
  });
});

describe('a result nobody waits for is ignored and counted:', () => {
  it('one that comes after the time is over', async () => {
    await using hasty = await startTestAgent({ env: { BROWSER_TOOL_TIMEOUT_MS: '200' } });
    const user = await hasty.createUser();
    const sessionId = await user.createSession();
    const page = await openPage(user, sessionId, undefined, hasty.url);
    const frames = await streamTurn(user, sessionId, useReadPage, declared);
    expect(outcomeOf(frames, 'browser_tool_call')).toMatchObject({ status: 'error' });
    expect(textOf(frames)).toContain('TOOL_TIMEOUT');
    const { toolCallId } = await waitFor('the call', () => page.calls[0]);
    page.socket.emit('tool_result', { toolCallId, result: 'late' });
    await waitFor('it to be counted', async () => (await countIgnored(hasty.url)) === 1);
    page.socket.disconnect();
  });

  it('one from somebody else, or from another session, or a second one', async () => {
    const { user, sessionId } = await startUser();
    const stranger = await startUser();
    const strange = await openPage(stranger.user, stranger.sessionId);
    const elsewhere = await openPage(user, await user.createSession());
    const page = await openPage(user, sessionId);
    const before = await countIgnored();
    const work = streamTurn(user, sessionId, useReadPage, declared);
    const { toolCallId } = await waitFor('the request', () => page.calls[0]);
    strange.socket.emit('tool_result', { toolCallId, result: 'forged' });
    elsewhere.socket.emit('tool_result', { toolCallId, result: 'confused' });
    await waitFor('both to be counted', async () => (await countIgnored()) === before + 2);
    page.socket.emit('tool_result', { toolCallId, result: 'right' });
    page.socket.emit('tool_result', { toolCallId, result: 'again' });
    expect(outcomeOf(await work, 'browser_tool_call').output).toBe('right');
    await waitFor('the repetition to be counted', async () => (await countIgnored()) === before + 3);
  });

  it('one that comes after the turn was stopped', async () => {
    const { user, sessionId } = await startUser();
    const page = await openPage(user, sessionId);
    const work = streamTurn(user, sessionId, useReadPage, declared);
    const { toolCallId } = await waitFor('the request', () => page.calls[0]);
    expect((await user.abort(sessionId)).body).toMatchObject({ aborted: true });
    expect((await work).at(-1)).toMatchObject({ event: 'done', data: { status: 'aborted' } });
    const before = await countIgnored();
    page.socket.emit('tool_result', { toolCallId, result: 'late' });
    await waitFor('it to be counted', async () => (await countIgnored()) === before + 1);
  });
});
