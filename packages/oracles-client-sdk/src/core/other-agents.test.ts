import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@palaver/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Frame, type Habits, startOtherAgent } from '../../test/start-other-agent.ts';
import { createChat } from './chat.ts';
import type { ChatOptions } from './chat-interface.ts';
import { toChatStatus } from './chat-state.ts';
import { createCredentialCache } from './credentials.ts';
import { openPollingLink } from './polling-link.ts';
import type { LinkEnd } from './socket-link.ts';
import { createTransport } from './transport.ts';

// Other agents have the same interface with small differences.

async function open(habits: Habits, options: Partial<ChatOptions> = {}) {
  const other = await startOtherAgent(habits);
  onTestFinished(() => other[Symbol.asyncDispose]());
  const signed = { invocations: 0, delegations: 0 };
  const sign = (kind: keyof typeof signed) => async () => {
    signed[kind] += 1;
    return { serialized: `${kind} ${signed[kind]}`, expiresAt: Date.now() + 3_600_000 };
  };
  const credentials = createCredentialCache({
    userDid: 'did:key:ana',
    createDelegation: sign('delegations'),
    createInvocation: sign('invocations'),
  });
  const transport = createTransport({ baseUrl: other.url, oracleDid: 'did:key:other', credentials });
  const payments: string[][] = [];
  const chat = createChat({
    transport,
    sessionId: 's',
    socketUrl: other.url,
    onPaymentRequired: (claimIds) => payments.push(claimIds),
    ...options,
  });
  onTestFinished(chat.start());
  await waitFor('the socket', () => chat.get().isRealTimeConnected);
  return { chat, other, payments, signed, shown: () => chat.get().messages.map(({ content }) => content) };
}

const run = (requestId: string): Frame => ['run', { runId: 'r', sessionId: 's', requestId }];
const said: Frame[] = [
  ['message', { content: 'one ' }],
  ['message', { content: 'two' }],
];
const done: Frame = ['done', { runId: 'r', messageId: 'm', status: 'complete' }];
const numbered = (frames: Frame[]) => frames.map(([event, data], index): Frame => [event, data, index + 1]);

it.each<[string, (requestId: string) => Frame[]]>([
  ['numbers no frames', (requestId) => [run(requestId), ...said, done]],
  [
    'sends events of its own',
    (requestId) => numbered([run(requestId), ['ping', {}], ['tick', 'no JSON'], ...said, done]),
  ],
  ['begins with the text', () => [...said, done]],
])('reads the answer of an agent that %s', async (_habit, frames) => {
  const { chat, shown } = await open({ frames });
  await chat.send('count');
  expect(shown()).toEqual(['count', 'one two']);
  expect(toChatStatus(chat.get())).toBe('ready');
});

it('shows a question once where the agent has a request id of its own, or keeps none', async () => {
  const answer = { id: 'm', type: 'ai', content: 'one two' };
  const habits: Habits = { frames: () => [run('theirs'), ...said, done] };
  const { chat, shown } = await open(habits);
  await chat.send('count');
  for (const requestId of ['theirs', undefined]) {
    habits.history = { messages: [{ id: 'q', type: 'human', content: 'count', requestId }, answer] };
    await chat.refetch();
    expect(shown()).toEqual(['count', 'one two']);
  }
  expect(chat.get().olderCursor).toBeNull();
});

it('reads the history of an agent that has no pages of it', async () => {
  const history = { messages: [{ id: 'q', type: 'human', content: 'count' }] };
  const { chat, shown } = await open({ isBare: true, history });
  await chat.refetch();
  expect(shown()).toEqual(['count']);
  expect(chat.get().loadError).toBeUndefined();
});

it('takes an answer that failed without a reason for a failure', async () => {
  const { chat } = await open({
    frames: (id) => [run(id), ['done', { runId: 'r', messageId: 'm', status: 'failed' }]],
  });
  await chat.send('count');
  expect(toChatStatus(chat.get())).toBe('error');
  expect(chat.get().sendError?.message).toBe('The answer could not be completed.');
});

it.each<[string, Habits]>([
  ['by its status alone', { refusal: { status: 402, body: { statusCode: 402, claimIds: ['c1', 'c2'] } } }],
  [
    'in the stream',
    { frames: (id) => [run(id), ['error', { error: 'pay', code: 'PAYMENT_REQUIRED', claimIds: ['c1', 'c2'] }], done] },
  ],
])('finds a payment wall %s', async (_where, habits) => {
  const { chat, payments } = await open(habits);
  await chat.send('count');
  expect(payments).toEqual([['c1', 'c2']]);
  expect(toChatStatus(chat.get())).toBe('error');
});

const reauthorize = { requestId: 'x', eventId: 'e', componentName: 'ReauthorizePrompt', args: {}, status: 'done' };

it('posts a new delegation when it is asked by socket, once where the stream asks too', async () => {
  const { chat, other } = await open({ frames: (id) => [run(id), ['render_component', reauthorize], ...said, done] });
  other.emit('render_component', { eventName: 'render_component', payload: reauthorize });
  await waitFor('the delegation', () => other.delegations.length > 0);
  await chat.send('count');
  await chat.refetch();
  expect(other.delegations).toEqual([{ raw: 'delegations 2' }]);
});

it('shows calls and components that come by socket alone', async () => {
  const double = {
    name: 'double',
    description: 'Doubles.',
    parameters: z.object({ n: z.number() }),
    handler: ({ n }: { n: number }) => 2 * n,
    hasRender: true,
  };
  const frames = (id: string) => [run(id), ...said, done];
  const { chat, other } = await open({ frames }, { clientTools: () => ({ actions: [double] }) });
  await chat.send('count');
  const { requestId } = chat.get().messages[1] ?? {};
  const call = { sessionId: 's', requestId, toolName: 'double', status: 'isRunning' };
  other.emit('action_call', { ...call, toolCallId: 'good', args: { n: 21 } });
  other.emit('action_call', { eventName: 'action_call', payload: { ...call, toolCallId: 'bad', args: {} } });
  other.emit('render_component', { requestId, eventId: 'c', componentName: 'Chart', args: {}, status: 'done' });
  await waitFor('both answers', () => other.results.length === 2);
  expect(other.results.toSorted((one, two) => (one.error ? 1 : 0) - (two.error ? 1 : 0))).toEqual([
    { event: 'action_call_result', sessionId: 's', toolCallId: 'good', result: 42 },
    { event: 'action_call_result', sessionId: 's', toolCallId: 'bad', result: null, error: expect.any(String) },
  ]);
  await waitFor('the component', () => chat.get().messages[1]?.components !== undefined);
  expect(chat.get().messages[1]).toMatchObject({
    toolCalls: [
      { id: 'good', name: 'double', status: 'done', output: 42 },
      { id: 'bad', status: 'error' },
    ],
    components: [{ componentName: 'Chart' }],
  });
});

it('gets calls by requests, and answers them, where no WebSocket comes through', async () => {
  const title = { toolName: 'title', description: 'Reads it.', schema: z.object({}), fn: () => 'The farm' };
  const { other } = await open({ isPolling: true }, { clientTools: () => ({ browserTools: { title } }) });
  const call = { sessionId: 's', requestId: 'q', toolCallId: 'c', toolName: 'title', args: {} };
  other.emit('browser_tool_call', call);
  await waitFor('the result', () => other.results.length > 0);
  expect(other.results).toEqual([{ event: 'tool_result', sessionId: 's', toolCallId: 'c', result: 'The farm' }]);
});

it('returns to WebSockets when the link by requests breaks and they come through again', async () => {
  const habits: Habits = { isPolling: true };
  const { chat, other } = await open(habits);
  habits.isPolling = false;
  other.breakOff();
  await waitFor('the second socket', () => other.transports().length === 2 && chat.get().isRealTimeConnected);
  expect(other.transports()).toEqual(['polling', 'websocket']);
});

it('ends a link by requests once, although the wallet declines after that', async () => {
  const other = await startOtherAgent({ isPolling: true });
  onTestFinished(() => other[Symbol.asyncDispose]());
  const asked = Promise.withResolvers<void>();
  const signing = Promise.withResolvers<Record<string, unknown>>();
  const ends: LinkEnd[] = [];
  openPollingLink({
    origin: other.url,
    path: '/socket.io',
    query: { sessionId: 's' },
    auth() {
      asked.resolve();
      return signing.promise;
    },
    onConnected: () => {},
    onEvent: () => {},
    onEnd: (end) => ends.push(end),
  });
  await asked.promise;
  other.breakOff();
  await waitFor('the end', () => ends.length > 0);
  signing.reject(new Error('declined'));
  await sleep(0);
  expect(ends).toEqual([{ reason: 'broken' }]);
});

it('skips events that are no lists', async () => {
  const events: string[] = [];
  const { other } = await open({}, { onEvent: ({ eventName }) => events.push(eventName) });
  events.length = 0;
  other.write('2{"tool_call":{}}');
  other.write('2null');
  other.emit('router_update', {});
  await waitFor('the event', () => events.length > 0);
  expect(events).toEqual(['router_update']);
});

it('asks the wallet once for what an agent refuses by ending the connection', async () => {
  const { chat, other, signed } = await open({ isEnded: (connection) => connection <= 2 });
  await waitFor('to be let in', () => other.handshakes.length === 3 && chat.get().isRealTimeConnected);
  expect(other.handshakes).toEqual([
    { invocation: 'invocations 1', ucanDelegation: 'delegations 1' },
    { invocation: 'invocations 2', ucanDelegation: 'delegations 1' },
    { invocation: 'invocations 2', ucanDelegation: 'delegations 1' },
  ]);
  expect(signed).toEqual({ invocations: 2, delegations: 1 });
});

it('asks a wallet that declines once, and connects when it has signed after all', async () => {
  const other = await startOtherAgent({});
  onTestFinished(() => other[Symbol.asyncDispose]());
  let asked = 0;
  let isWilling = false;
  const credentials = createCredentialCache({
    userDid: 'did:key:ana',
    async createDelegation() {
      asked += 1;
      if (!isWilling) throw new Error('declined');
      return { serialized: 'delegation', expiresAt: Date.now() + 3_600_000 };
    },
  });
  const transport = createTransport({ baseUrl: other.url, oracleDid: 'did:key:other', credentials });
  const chat = createChat({ transport, sessionId: 's', socketUrl: other.url });
  onTestFinished(chat.start());
  await waitFor('the load error', () => chat.get().loadError);
  // Longer than the first pauses between attempts to connect.
  await sleep(4_000);
  // The history and the socket ask at the same time and share one question, or ask one after the other.
  expect(asked).toBeLessThanOrEqual(2);
  isWilling = true;
  await chat.refetch();
  await waitFor('the socket', () => chat.get().isRealTimeConnected);
  expect(other.handshakes).toEqual([{ ucanDelegation: 'delegation' }]);
});

it('sends a message again with what went along with it', async () => {
  const habits: Habits = { refusal: { status: 503, body: { statusCode: 503, code: 'UNAVAILABLE' } } };
  const { chat, other } = await open(habits);
  const attachments = [{ mxcUri: 'mxc://hs/a', filename: 'a.txt', mimetype: 'text/plain' }];
  await chat.send('read this', { attachments, model: 'large' });
  expect(chat.get().messages).toMatchObject([{ content: 'read this', status: 'failed', attachments }]);
  await chat.retry();
  const message = { message: 'read this', attachments, model: 'large' };
  expect(other.sent).toMatchObject([message, message]);
});
