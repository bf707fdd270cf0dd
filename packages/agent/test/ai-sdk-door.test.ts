// The unmodified chat of the AI SDK (what `useChat` holds), over its own transport.
import { createTempDir } from '@palaver/test-kit';
import { loadClient } from '@palaver/test-kit/install-tools';
import { createDelegation } from '@palaver/ucan';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { payBySubAgent } from './ask-approval.ts';
import { createBank, readPaid, withdrawal } from './bank-plugin.ts';
import { createGate } from './gate-plugin.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const gate = createGate();
let dir: Awaited<ReturnType<typeof createTempDir>>;
let paidFile: string;
let agent: TestAgent;
let ana: TestUser;
// biome-ignore lint/suspicious/noExplicitAny: the packages are not there when types are checked.
let ai: any;
// biome-ignore lint/suspicious/noExplicitAny: likewise.
let Chat: any;

beforeAll(async () => {
  ai = await loadClient('ai');
  ({ Chat } = await loadClient('@ai-sdk/react'));
  dir = await createTempDir();
  paidFile = `${dir.path}/paid`;
  agent = await startTestAgent({ plugins: [gate.plugin, createBank(paidFile)] });
  ana = await agent.createUser();
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await dir[Symbol.asyncDispose]();
});

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

test('a tool of the page runs there, and the answer continues in the same message', async () => {
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

test('a tool that needs approval: asked in the message, answered by the next request, also after a reload', async () => {
  const chat = createChat('bank', { sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses });
  const pay = (amount: number) => chat.sendMessage({ text: `/tool pay {"to":"ben","amount":${amount},"pin":"4711"}` });
  const payment = () => chat.lastMessage.parts.find(({ type }: { type: string }) => type === 'dynamic-tool');
  await pay(50);
  expect(chat.status).toBe('ready');
  expect(payment()).toMatchObject({ toolName: 'pay', state: 'approval-requested', input: { to: 'ben', amount: 50 } });
  expect(readPaid(paidFile)).toEqual([]);
  await chat.addToolApprovalResponse({ id: payment().approval.id, approved: true });
  await expect.poll(() => chat.lastMessage.parts.at(-1)).toMatchObject({ type: 'text', state: 'done' });
  expect(payment()).toMatchObject({ state: 'output-available', output: { paid: 50 }, approval: { approved: true } });
  expect(chat.messages).toHaveLength(2);
  expect(readPaid(paidFile)).toEqual(['ben 50']);

  await expect.poll(() => chat.status).toBe('ready');
  await pay(60);
  const again = createChat('bank', { messages: chat.messages.slice(0, 3) });
  await again.resumeStream();
  const asked = again.lastMessage.parts.find(({ type }: { type: string }) => type === 'dynamic-tool');
  expect(asked).toMatchObject({ state: 'approval-requested', approval: { id: payment().approval.id } });
  await chat.addToolApprovalResponse({ id: payment().approval.id, approved: false, reason: 'too much' });
  await expect.poll(() => chat.lastMessage.parts.at(-1).text).toContain('too much');
  expect(payment()).toMatchObject({ state: 'output-denied', approval: { approved: false } });
  expect(readPaid(paidFile)).toEqual(['ben 50']);
});

test('a refusal is the error of the chat', async () => {
  const chat = createChat('errors');
  await chat.sendMessage({ parts: [{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' }] });
  expect(chat).toMatchObject({
    status: 'error',
    error: { message: expect.stringContaining('is not a text') },
  });
});

async function grant(user: TestUser) {
  const { serialized: raw } = await createDelegation({
    issuer: user.signer,
    audience: agent.did,
    capabilities: [withdrawal(user.did)],
  });
  expect((await user.send('POST', '/delegation', { raw })).status).toBe(200);
}

test('a sub-agent asks in the message, and its call and it itself end there', async () => {
  const options = { sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses };
  const chat = createChat('banker', options);
  const before = readPaid(paidFile).length;
  await chat.sendMessage({ text: payBySubAgent(50) });
  const parts = () => chat.lastMessage.parts.filter(({ type }: { type: string }) => type === 'dynamic-tool');
  expect(parts()).toMatchObject([
    { toolName: 'banker', state: 'input-available' },
    { toolName: 'pay', state: 'approval-requested' },
  ]);
  await chat.addToolApprovalResponse({ id: parts()[1].approval.id, approved: true });
  await expect.poll(() => chat.lastMessage.parts.at(-1)).toMatchObject({ type: 'text', state: 'done' });
  expect(parts()).toMatchObject([{ state: 'output-available' }, { state: 'output-available', output: { paid: 50 } }]);
  expect(readPaid(paidFile)).toHaveLength(before + 1);
});

test('a call that needs approval and a delegation runs in the chat once it has both', async () => {
  const chat = createChat('both', { sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses });
  await chat.sendMessage({ text: '/tool withdraw {"amount":50}' });
  const part = () => chat.lastMessage.parts.find(({ type }: { type: string }) => type === 'dynamic-tool');
  expect(part()).toMatchObject({ toolName: 'withdraw', state: 'approval-requested' });
  await grant(ana);
  await chat.addToolApprovalResponse({ id: part().approval.id, approved: true });
  await expect.poll(() => part()).toMatchObject({ state: 'output-available', output: { withdrawn: 50 } });
});

test('a call that needs approval and a delegation is one request, answered once', async () => {
  const user = await agent.createUser();
  const ask = async (id: string, messages: object[]) => {
    const body = JSON.stringify({ id, messages });
    const headers = { authorization: `Bearer ${user.invocation}`, 'content-type': 'application/json' };
    const reply = await request(`${agent.url}/api/chat`, { method: 'POST', headers, body });
    const chunks = String(reply.body)
      .split('\n\n')
      .filter((event) => event.startsWith('data: {'))
      .map((event) => JSON.parse(event.slice('data: '.length)));
    return { ...reply, chunks };
  };
  const withdraw = async (id: string) => {
    const asked = { id: 'q', role: 'user', parts: [{ type: 'text', text: '/tool withdraw {"amount":50}' }] };
    const { chunks } = await ask(id, [asked]);
    const requests = chunks.filter(({ type }) => type === 'tool-approval-request');
    expect(requests).toMatchObject([{ approvalDescriptor: { capability: { can: 'bank/withdraw' } } }]);
    expect(chunks.filter(({ type }) => type === 'tool-input-available')).toHaveLength(1);
    const [{ approvalId, toolCallId }] = requests;
    return (approved: boolean) => {
      const approval = { id: approvalId, approved };
      const part = { type: 'dynamic-tool', toolCallId, state: 'approval-responded', approval };
      return ask(id, [asked, { id: 'a', role: 'assistant', parts: [part] }]);
    };
  };
  const refuse = await withdraw('refused');
  expect((await refuse(false)).chunks).toContainEqual(expect.objectContaining({ type: 'tool-output-denied' }));

  const answer = await withdraw('granted');
  // The delegation is the other half of the answer: nothing is approved before it is there.
  for (let attempt = 0; attempt < 2; attempt += 1)
    expect(await answer(true)).toMatchObject({ status: 409, body: { code: 'DELEGATION_REQUIRED' } });
  await grant(user);
  expect((await answer(true)).chunks).toContainEqual(
    expect.objectContaining({ type: 'tool-output-available', output: { withdrawn: 50 } }),
  );
});
