import { getEventListeners } from 'node:events';
import { waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createUser, payFirst, settleClaim, startAgent, type TestAgent } from '../../test/start-agent.ts';
import { startFaultyProxy } from '../../test/start-faulty-proxy.ts';
import { createAgentApi } from './agent-api.ts';
import { type Chat, createChat } from './chat.ts';
import type { ChatOptions } from './chat-interface.ts';
import { toChatStatus } from './chat-state.ts';
import type { OracleError } from './oracle-error.ts';
import { createTransport } from './transport.ts';

let agent: TestAgent;

beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent?.[Symbol.asyncDispose]());

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index + 1}`).join(' ');

function open(options: ChatOptions): Chat {
  const chat = createChat(options);
  onTestFinished(chat.start());
  return chat;
}

async function openNew(options: Partial<ChatOptions> = {}) {
  const user = await createUser(agent);
  const api = createAgentApi(user.transport);
  const { sessionId } = await api.createSession();
  const chatOptions: ChatOptions = { transport: user.transport, sessionId, socketUrl: agent.url, ...options };
  return { ...user, api, sessionId, chatOptions, chat: open(chatOptions) };
}

const isReady = (chat: Chat) => !chat.get().isLoading && toChatStatus(chat.get()) === 'ready';
const lastOf = (chat: Chat) => chat.get().messages.at(-1);

describe('sending', () => {
  it.each(['immediate', 'batched'] as const)(
    'streams word by word (%s), and the history says the same',
    async (streamingMode) => {
      const { chat, api, sessionId } = await openNew({ streamingMode });
      const statuses: string[] = [];
      const contents = new Set<string>();
      chat.subscribe(() => {
        const status = toChatStatus(chat.get());
        if (statuses.at(-1) !== status) statuses.push(status);
        contents.add(lastOf(chat)?.content ?? '');
      });
      const sending = chat.send('/long 40');
      expect(chat.get().messages).toMatchObject([{ type: 'human', content: '/long 40', status: 'sending' }]);
      await sending;
      expect(statuses.filter((status, index) => status !== 'ready' || index > 0)).toEqual([
        'submitted',
        'streaming',
        'ready',
      ]);
      expect(contents.size).toBeGreaterThan(2);
      expect(chat.get().messages).toMatchObject([
        { type: 'human', content: '/long 40', status: 'complete' },
        { type: 'ai', content: words(40), status: 'complete' },
      ]);
      const { messages } = await api.listMessages(sessionId);
      await chat.refetch();
      expect(chat.get().messages.map(({ storedId, content }) => [storedId, content])).toEqual(
        messages.map(({ id, content }) => [id, content]),
      );
    },
  );

  it('never changes the id or the key of a message, from its first word to the stored one', async () => {
    const { chat, api, sessionId } = await openNew();
    const seen = new Set<string>();
    chat.subscribe(() => {
      for (const { type, id, key } of chat.get().messages) seen.add(`${type} ${id} ${key}`);
    });
    await chat.send('hello');
    await chat.refetch();
    expect(seen.size).toBe(2);
    const { messages } = await api.listMessages(sessionId);
    expect(chat.get().messages.map(({ storedId }) => storedId)).toEqual(messages.map(({ id }) => id));
    expect(chat.get().messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
    expect(chat.get().messages.every(({ isStored }) => isStored)).toBe(true);
  });

  it('reports the end of an answer, and each event once', async () => {
    const events: string[] = [];
    const finished: string[] = [];
    const { chat } = await openNew({
      onEvent: ({ eventName, payload }) => events.push(`${eventName} ${(payload as { status?: string }).status ?? ''}`),
      onFinish: ({ content, status }) => finished.push(`${status} ${content}`),
    });
    await waitFor('the channel', () => chat.get().isRealTimeConnected);
    await chat.send('call me Ana');
    await Promise.all([chat.send('/long 2'), chat.send('/long 3')]);
    expect(finished).toEqual([expect.stringMatching(/^complete /), `complete ${words(2)}`, `complete ${words(3)}`]);
    expect(events.filter((name) => name.startsWith('tool_call'))).toEqual(['tool_call isRunning', 'tool_call done']);
    expect(events.filter((name) => name.startsWith('done'))).toHaveLength(3);
  });

  it('sends two at once in order', async () => {
    const { chat } = await openNew();
    await Promise.all([chat.send('/long 5'), chat.send('/long 3')]);
    expect(chat.get().messages.map(({ content }) => content)).toEqual(['/long 5', words(5), '/long 3', words(3)]);
  });

  it('reports a payment wall, keeps the message and sends it again once it is paid', async () => {
    await using wall = await startAgent(payFirst);
    const { transport } = await createUser(wall);
    const { sessionId } = await createAgentApi(transport).createSession();
    const asked: string[][] = [];
    const chat = open({ transport, sessionId, onPaymentRequired: (claimIds) => asked.push(claimIds) });
    await waitFor('the history', () => isReady(chat));
    await chat.send('/long 3');
    expect(asked).toEqual([[expect.any(String)]]);
    expect(toChatStatus(chat.get())).toBe('error');
    expect(chat.get().sendError).toMatchObject({ status: 402, code: 'PAYMENT_REQUIRED' });
    expect(chat.get().messages).toMatchObject([{ content: '/long 3', status: 'failed', isStored: false }]);
    await chat.refetch();
    await chat.retry();
    expect(asked).toHaveLength(2);
    expect(chat.get().messages).toMatchObject([{ content: '/long 3', status: 'failed' }]);
    await settleClaim(wall, asked[0]?.[0] ?? '');
    await chat.retry();
    expect(toChatStatus(chat.get())).toBe('ready');
    expect(chat.get().messages.map(({ content }) => content)).toEqual(['/long 3', words(3)]);
  });

  it('reports a session that does not exist', async () => {
    const { transport } = await createUser(agent);
    const chat = open({ transport, sessionId: '0197a1a8-0000-7000-8000-000000000000' });
    await waitFor('the load error', () => chat.get().loadError);
    expect((chat.get().loadError as OracleError).code).toBe('SESSION_NOT_FOUND');
    await chat.send('hello');
    expect(chat.get().sendError).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });
});

describe('abort', () => {
  it('keeps the partial answer, right after the send as well', async () => {
    const { chat } = await openNew();
    const sending = chat.send('/long 2000');
    await chat.abort();
    await sending;
    expect(lastOf(chat)).toMatchObject({ type: 'ai', status: 'aborted' });
    expect(toChatStatus(chat.get())).toBe('ready');
  });

  it('works on an answer another page has begun', async () => {
    const { chat, chatOptions } = await openNew();
    const sending = chat.send('/long 2000');
    await waitFor('some words', () => (lastOf(chat)?.content.length ?? 0) > 50);
    const other = open(chatOptions);
    await waitFor('the same words', () => (lastOf(other)?.content.length ?? 0) > 50);
    await other.abort();
    await sending;
    await waitFor('the end', () => isReady(other));
    await waitFor('the same in both', () => lastOf(other)?.content === lastOf(chat)?.content);
    expect(lastOf(other)).toMatchObject({ status: 'aborted' });
  });

  it('is local first: without a network nothing rejects, and the service is stopped once it is back', async () => {
    const user = await createUser(agent);
    let isAway = false;
    const transport = createTransport({
      baseUrl: agent.url,
      oracleDid: agent.did,
      credentials: user.credentials,
      fetch: async (...request) => {
        if (isAway) throw new TypeError('Failed to fetch');
        return fetch(...request);
      },
    });
    const api = createAgentApi(transport);
    const { sessionId } = await api.createSession();
    const chat = open({ transport, sessionId });
    const sending = chat.send('/long 20000');
    await waitFor('some words', () => (lastOf(chat)?.content.length ?? 0) > 50);
    isAway = true;
    const stopping = chat.abort();
    expect(toChatStatus(chat.get())).toBe('ready');
    const shown = lastOf(chat);
    expect(shown).toMatchObject({ type: 'ai', status: 'aborted' });
    await stopping;
    expect(lastOf(chat)).toEqual(shown);
    isAway = false;
    await sending;
    expect(lastOf(chat)).toMatchObject({ status: 'aborted', isStored: true });
    expect((await api.listMessages(sessionId)).messages.at(-1)).toMatchObject({ status: 'aborted' });
  });
});

describe('resume', () => {
  it('takes up a running answer from its first word after a reload', async () => {
    const { chatOptions } = await openNew();
    const first = createChat(chatOptions);
    const stop = first.start();
    void first.send('/long 800');
    await waitFor('some words', () => (lastOf(first)?.content.length ?? 0) > 50);
    stop();
    const second = open(chatOptions);
    await waitFor('the stream', () => toChatStatus(second.get()) === 'streaming');
    await waitFor('the end', () => isReady(second));
    expect(second.get().messages.map(({ content }) => content)).toEqual(['/long 800', words(800)]);
  });

  /** A chat whose connections are broken at will. */
  async function openThrough(isCut: Parameters<typeof startFaultyProxy>[1]) {
    const proxy = await startFaultyProxy(new URL(agent.url), isCut);
    onTestFinished(proxy.close);
    const user = await createUser(agent);
    const { sessionId } = await createAgentApi(user.transport).createSession();
    const transport = createTransport({ baseUrl: proxy.url, oracleDid: agent.did, credentials: user.credentials });
    return { proxy, chat: open({ transport, sessionId }) };
  }
  const isSend = (request: string) => /^POST \/messages\/[0-9a-f-]+ /m.test(request);

  it('loses and doubles nothing when connections break again and again', async () => {
    const { proxy, chat } = await openThrough(
      ({ isStream, responseBytes }, direction) => direction === 'response' && isStream && responseBytes > 6_000,
    );
    await chat.send('/long 300');
    expect(proxy.cuts()).toBeGreaterThan(2);
    expect(chat.get().messages).toMatchObject([{ content: '/long 300' }, { content: words(300), status: 'complete' }]);
    expect(toChatStatus(chat.get())).toBe('ready');
  });

  it('does not send a message twice when the reply to it is lost', async () => {
    const { proxy, chat } = await openThrough(
      ({ request }, direction) => direction === 'response' && isSend(request) && proxy.cuts() === 0,
    );
    await waitFor('the history', () => isReady(chat));
    await chat.send('/long 100');
    expect(proxy.cuts()).toBe(1);
    await waitFor('the answer', () => isReady(chat) && chat.get().messages.length === 2);
    expect(chat.get().messages.map(({ content }) => content)).toEqual(['/long 100', words(100)]);
  });

  it('reports a message that never arrived, and sends it again when asked', async () => {
    let isBroken = true;
    const { chat } = await openThrough(
      ({ request }, direction) => direction === 'request' && isSend(request) && isBroken,
    );
    await waitFor('the history', () => isReady(chat));
    await chat.send('/long 3');
    expect(chat.get().sendError).toMatchObject({ code: 'NETWORK_ERROR' });
    expect(chat.get().messages).toMatchObject([{ content: '/long 3', status: 'failed' }]);
    isBroken = false;
    await chat.retry();
    expect(chat.get().messages.map(({ content }) => content)).toEqual(['/long 3', words(3)]);
  });

  it('starts, stops and starts again as strict mode does', async () => {
    const { chatOptions } = await openNew();
    const chat = createChat(chatOptions);
    chat.start()();
    onTestFinished(chat.start());
    await waitFor('the history', () => isReady(chat));
    await chat.send('/long 3');
    expect(chat.get().messages.map(({ content }) => content)).toEqual(['/long 3', words(3)]);
  });
});

describe('two pages on one session', () => {
  it('both show question and answer while it is written', async () => {
    const { chat, chatOptions } = await openNew();
    const other = open(chatOptions);
    await waitFor('both sockets', () => chat.get().isRealTimeConnected && other.get().isRealTimeConnected);
    const sending = chat.send('/long 200');
    await waitFor('the other page to stream', () => toChatStatus(other.get()) === 'streaming');
    await sending;
    await waitFor('the end', () => isReady(other));
    expect(other.get().messages.map(({ content }) => content)).toEqual(['/long 200', words(200)]);
  });
});

describe('history', () => {
  it('is loaded in pages', async () => {
    const { api, sessionId, transport } = await openNew();
    for (const text of ['a', 'b', 'c']) {
      await transport.json(`/messages/${sessionId}`, { method: 'POST', body: { message: text } });
    }
    const chat = open({ transport, sessionId, pageSize: 2 });
    await waitFor('the newest page', () => isReady(chat));
    expect(chat.get().messages.map(({ content }) => content)[0]).toBe('c');
    await chat.loadOlder();
    await chat.refetch();
    await chat.loadOlder();
    expect(chat.get().olderCursor).toBeNull();
    await chat.loadOlder();
    const { messages } = await api.listMessages(sessionId);
    expect(chat.get().messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
  });
});

describe('tools of the page', () => {
  it('are declared, checked, run and answered', async () => {
    const seen: unknown[] = [];
    const calls: [string, boolean][] = [];
    const { chat } = await openNew({
      onClientCall: (...call) => calls.push(call),
      clientTools: () => ({
        browserTools: {
          add: {
            toolName: 'add_numbers',
            description: 'Adds.',
            schema: z.object({ a: z.number(), b: z.number().default(1) }),
            fn: ({ a, b }: { a: number; b: number }) => {
              seen.push([a, b]);
              if (a > 99) throw new Error('too large');
              return { sum: a + b };
            },
          },
        },
        actions: [
          {
            name: 'paint',
            description: 'Paints.',
            parameters: z.object({ colour: z.enum(['red', 'blue']) }),
            handler: async ({ colour }: { colour: string }) => {
              if (colour === 'blue') throw new Error('no blue left');
              return `painted ${colour}`;
            },
            hasRender: true,
          },
        ],
      }),
    });
    await waitFor('the socket', () => chat.get().isRealTimeConnected);
    const ask = async (text: string) => {
      await chat.send(text);
      return lastOf(chat);
    };
    expect(await ask('/tool add_numbers {"a": 2}')).toMatchObject({
      content: 'add_numbers: {"sum":3}',
      toolCalls: [{ name: 'add_numbers', status: 'done', output: { sum: 3 } }],
    });
    expect(await ask('/tool add_numbers {"a": 100}')).toMatchObject({
      toolCalls: [{ status: 'error', error: 'too large' }],
    });
    expect(await ask('/tool paint {"colour": "red"}')).toMatchObject({
      content: 'paint: painted red',
      toolCalls: [{ name: 'paint', status: 'done', output: 'painted red' }],
    });
    expect(await ask('/tool paint {"colour": "blue"}')).toMatchObject({
      toolCalls: [{ status: 'error', error: 'no blue left' }],
    });
    expect(seen).toEqual([
      [2, 1],
      [100, 1],
    ]);
    expect(calls.filter(([, isRunning]) => isRunning)).toHaveLength(4);
    expect(calls).toHaveLength(8);
  });
});

describe('a send without a network', () => {
  async function openAway() {
    const user = await createUser(agent);
    const state = { isAway: false as boolean | string, sends: 0, bodies: [] as unknown[] };
    const transport = createTransport({
      baseUrl: agent.url,
      oracleDid: agent.did,
      credentials: user.credentials,
      fetch: async (...request) => {
        if (String(request[0]).includes('/messages/')) state.sends += 1;
        const body = String(request[1]?.body ?? '');
        if (body.includes('"message"')) state.bodies.push(JSON.parse(body));
        const isLost = typeof state.isAway === 'string' ? body.includes(state.isAway) : state.isAway;
        if (isLost) throw new TypeError('Failed to fetch');
        return fetch(...request);
      },
    });
    const { sessionId } = await createAgentApi(transport).createSession();
    const chat = open({ transport, sessionId });
    await waitFor('the history', () => isReady(chat));
    return { chat, state, transport, sessionId };
  }

  it('fails after the first attempt and is sent by a retry', async () => {
    const { chat, state } = await openAway();
    state.isAway = true;
    await chat.send('/long 2');
    expect(chat.get().sendError).toMatchObject({ code: 'NETWORK_ERROR', retryable: true });
    expect(state.sends).toBe(1);
    await chat.retry();
    expect(lastOf(chat)).toMatchObject({ content: '/long 2', status: 'failed' });
    state.isAway = false;
    await chat.retry();
    expect(chat.get().messages.map(({ content }) => content)).toEqual(['/long 2', words(2)]);
  });

  it('is sent again with what went along with it, though a later message has arrived', async () => {
    const { chat, state } = await openAway();
    state.isAway = 'first';
    await Promise.all([chat.send('/long 2', { metadata: { order: 'first' } }), chat.send('/long 3')]);
    expect(chat.get().sendError).toMatchObject({ code: 'NETWORK_ERROR' });
    state.isAway = false;
    const before = state.bodies.length;
    await chat.retry();
    expect(state.bodies.slice(before)).toMatchObject([{ message: '/long 2', metadata: { order: 'first' } }]);
    expect(chat.get().messages.map(({ content }) => content)).toEqual(['/long 3', words(3), '/long 2', words(2)]);
    expect(toChatStatus(chat.get())).toBe('ready');
  });

  it('is not needed for the history: it is loaded once the agent is reachable', async () => {
    const { chat, state, transport, sessionId } = await openAway();
    await chat.send('/long 2');
    state.isAway = true;
    const late = open({ transport, sessionId });
    await waitFor('the failure', () => late.get().loadError !== undefined);
    state.isAway = false;
    await waitFor('the history', () => late.get().messages.length === 2, 20_000);
    expect(late.get().loadError).toBeUndefined();
  });

  it('leaves no listener on the signal of the chat, however many messages there were', async () => {
    const user = await createUser(agent);
    const signals = new Set<AbortSignal>();
    const request: typeof user.transport.request = (path, init) => {
      if (init?.signal) signals.add(init.signal);
      return user.transport.request(path, init);
    };
    const json: typeof user.transport.json = async (path, init) => (await request(path, init)).json() as never;
    const { sessionId } = await createAgentApi(user.transport).createSession();
    const chat = open({ transport: { ...user.transport, request, json }, sessionId });
    for (let count = 0; count < 3; count += 1) await chat.send('/long 1');
    await chat.refetch();
    expect(signals.size).toBeGreaterThan(1);
    for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('is not tried when the device reports that it is offline', async () => {
    const { chat, state } = await openAway();
    vi.stubGlobal('navigator', { onLine: false });
    onTestFinished(() => void vi.unstubAllGlobals());
    const before = state.sends;
    await chat.send('hello');
    expect(chat.get().sendError).toMatchObject({ code: 'OFFLINE', status: 0, retryable: true });
    expect(state.sends).toBe(before);
  });
});
