import { randomUUID } from 'node:crypto';
import { createScriptedModel, defineOraclePlugin } from '@palaver/agent';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createUser, startAgent, type TestAgent } from '../../test/start-agent.ts';
import { createAgentApi } from './agent-api.ts';
import { createChat } from './chat.ts';
import { applyEvent, type ChatMessage } from './chat-message.ts';
import type { StreamEvent } from './wire.ts';

const steps = [
  { reasoning: 'A look first.', text: 'I look.\n', toolCalls: [{ name: 'look' }, { name: 'paint' }] },
  { reasoning: 'Good.', text: '\n\nIt is red.', toolCalls: [{ name: 'look' }] },
  { text: '\nDone.' },
];

let agent: TestAgent;
beforeAll(async () => {
  const plugin = defineOraclePlugin({
    name: 'looking',
    version: '1.0.0',
    manifest: {
      title: 'Looking',
      summary: 'Looks.',
      whenToUse: ['always'],
      visibility: 'always',
      stability: 'stable',
    },
    getTools: () => ({
      look: {
        description: 'Looks.',
        inputSchema: z.object({}),
        execute: (_input, rt) => {
          rt.emit.renderComponent({
            componentName: 'Card',
            args: { title: 'Red' },
            eventId: randomUUID(),
            status: 'done',
          });
          return 'red';
        },
      },
    }),
  });
  agent = await startAgent({}, [plugin], { model: createScriptedModel(steps) });
});
afterAll(() => agent?.[Symbol.asyncDispose]());

it('gives a streamed answer the parts of the stored one, in the same order', async () => {
  const { transport } = await createUser(agent);
  const api = createAgentApi(transport);
  const { sessionId } = await api.createSession();
  const paint = { name: 'paint', description: '', parameters: z.object({}), handler: () => 'painted', hasRender: true };
  const chat = createChat({
    transport,
    sessionId,
    socketUrl: agent.url,
    clientTools: () => ({ actions: [paint] }),
  });
  const isConnected = Promise.withResolvers<void>();
  chat.subscribe(() => chat.get().isRealTimeConnected && isConnected.resolve());
  onTestFinished(chat.start());
  await isConnected.promise;
  await chat.send('look');
  const streamed = chat.get().messages.at(-1);
  const { messages } = await api.listMessages(sessionId);
  const stored = messages.at(-1);
  expect(stored?.parts?.map(({ type }) => type)).toEqual([
    'reasoning',
    'text',
    'tool_call',
    'component',
    'action_call',
    'reasoning',
    'text',
    'tool_call',
    'component',
    'text',
  ]);
  expect(streamed?.parts).toEqual(stored?.parts);
  expect(streamed).toMatchObject({ content: stored?.content, toolCalls: stored?.toolCalls });
});

it('gives a call its place in the stream, whatever a socket has said before', () => {
  const turn = { sessionId: 's', requestId: 'r' };
  const text = (content: string): StreamEvent => ({ eventName: 'message', payload: { content, timestamp: '' } });
  const call = (status: 'isRunning' | 'done'): StreamEvent => ({
    eventName: 'browser_tool_call',
    payload: { ...turn, toolCallId: 'c', toolName: 'look', args: {}, status },
  });
  const empty = { type: 'ai', content: '', requestId: 'r' } as ChatMessage;
  const events: [StreamEvent, boolean][] = [
    [text('I '), false],
    [call('isRunning'), true],
    [text('look.'), false],
    [call('done'), true],
    [call('isRunning'), false],
    [text('\n\nRed.'), false],
    [call('done'), false],
  ];
  const { parts, toolCalls } = events.reduce((message, [event, isEarly]) => applyEvent(message, event, isEarly), empty);
  const ended = { id: 'c', name: 'look', args: {}, status: 'done' };
  expect(parts).toEqual([
    { type: 'text', text: 'I look.' },
    { type: 'tool_call', ...ended },
    { type: 'text', text: 'Red.' },
  ]);
  expect(toolCalls).toEqual([ended]);
});
