// The unmodified chat of the AI SDK (what `useChat` holds), over its own transport.
import { loadClient } from '@palaver/test-kit/install-tools';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGate } from './gate-plugin.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const gate = createGate();
let agent: TestAgent;
let ana: TestUser;
// biome-ignore lint/suspicious/noExplicitAny: the packages are not there when types are checked.
let ai: any;
// biome-ignore lint/suspicious/noExplicitAny: likewise.
let Chat: any;

beforeAll(async () => {
  ai = await loadClient('ai');
  ({ Chat } = await loadClient('@ai-sdk/react'));
  agent = await startTestAgent({ plugins: [gate.plugin] });
  ana = await agent.createUser();
});
afterAll(() => agent[Symbol.asyncDispose]());

const tools = {
  read_thermometer: { description: 'The temperature.', parameters: { type: 'object', properties: { room: {} } } },
};

function createChat(id: string, options: object = {}) {
  const headers = { authorization: `Bearer ${ana.invocation}` };
  const transport = new ai.DefaultChatTransport({ api: `${agent.url}/api/chat`, headers, body: { tools } });
  return new Chat({ id, transport, ...options });
}

test('text, reasoning and tools of the agent arrive as parts; the chat is a session', async () => {
  const sessionId = await ana.createSession();
  const chat = createChat(sessionId);
  await chat.sendMessage({ text: '/tool set_user_preferences {"tone":"warm"}' });
  expect(chat.error).toBeUndefined();
  const [, answer] = await ana.messages(sessionId);
  expect(chat.lastMessage).toMatchObject({ id: answer.id, role: 'assistant' });
  expect(chat.lastMessage.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'reasoning', text: expect.any(String), state: 'done' },
    { type: 'dynamic-tool', toolName: 'set_user_preferences', state: 'output-available', providerExecuted: true },
    { type: 'text', text: answer.content, state: 'done' },
  ]);
});

test('a tool of the page runs there, and the answer goes on in the same message', async () => {
  const chat = createChat('thermometer', {
    sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall({ toolCall }: { toolCall: { toolName: string; toolCallId: string } }) {
      const { toolName: tool, toolCallId } = toolCall;
      if (tool === 'read_thermometer') chat.addToolOutput({ tool, toolCallId, output: { celsius: 21 } });
    },
  });
  await chat.sendMessage({ text: '/tool read_thermometer {"room":"kitchen"}' });
  await expect
    .poll(() => chat.lastMessage.parts.at(-1))
    .toMatchObject({
      type: 'text',
      text: 'read_thermometer: {"celsius":21}',
    });
  await expect.poll(() => chat.status).toBe('ready');
  expect(chat.messages).toHaveLength(2);
  expect(chat.lastMessage.parts).toContainEqual(
    expect.objectContaining({ type: 'tool-read_thermometer', state: 'output-available', output: { celsius: 21 } }),
  );
});

test('a chat that is opened again in mid-stream reads the answer to its end; a chat at rest has nothing to read', async () => {
  const first = createChat('resumed');
  const sent = first.sendMessage({ text: '/tool gate {}' });
  await gate.reached();
  await first.stop();
  await sent;
  const second = createChat('resumed', { messages: first.messages.slice(0, 1) });
  const resumed = second.resumeStream();
  await expect.poll(() => second.lastMessage.parts.length).toBeGreaterThan(1);
  gate.open();
  await resumed;
  expect(second.lastMessage.parts.at(-1)).toMatchObject({ type: 'text', text: 'gate: opened', state: 'done' });
  const again = createChat('resumed');
  await again.resumeStream();
  expect(again.messages).toEqual([]);
});

test('a refusal is the error of the chat', async () => {
  const chat = createChat('errors');
  await chat.sendMessage({ parts: [{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' }] });
  expect(chat).toMatchObject({
    status: 'error',
    error: { message: expect.stringContaining('files are not supported') },
  });
});
