// The unmodified client of AG-UI.
import { createTempDir } from '@palaver/test-kit';
import { loadClient } from '@palaver/test-kit/install-tools';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { payBySubAgent } from './ask-approval.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

let agent: TestAgent;
let ana: TestUser;
// biome-ignore lint/suspicious/noExplicitAny: the package is not there when types are checked.
let HttpAgent: any;

beforeAll(async () => {
  ({ HttpAgent } = await loadClient('@ag-ui/client'));
  agent = await startTestAgent();
  ana = await agent.createUser();
});
afterAll(() => agent[Symbol.asyncDispose]());

const createAgent = (threadId: string, more: object = {}) =>
  new HttpAgent({
    url: `${agent.url}/agui`,
    threadId,
    headers: { authorization: `Bearer ${ana.invocation}` },
    ...more,
  });

// biome-ignore lint/suspicious/noExplicitAny: it is an agent of the package.
async function run(client: any, parameters: object = {}): Promise<string[]> {
  const types: string[] = [];
  const onEvent = ({ event }: { event: { type: string } }) => void types.push(event.type);
  await client.runAgent(parameters, { onEvent });
  return types;
}

test('text, reasoning, tool calls and state; the thread is a session', async () => {
  const sessionId = await ana.createSession();
  const client = createAgent(sessionId, { initialState: { page: 'farm' } });
  client.addMessage({ id: 'q1', role: 'user', content: '/tool set_user_preferences {"tone":"warm"}' });
  const types = await run(client);
  expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
    'RUN_STARTED',
    'STATE_SNAPSHOT',
    'REASONING_START',
    'REASONING_MESSAGE_START',
    'REASONING_MESSAGE_CONTENT',
    'REASONING_MESSAGE_END',
    'REASONING_END',
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_END',
    'TOOL_CALL_RESULT',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'RUN_FINISHED',
  ]);
  const [, answer] = await ana.messages(sessionId);
  expect(client.messages.at(-1)).toMatchObject({ role: 'assistant', content: answer.content });
  expect(client.state).toEqual({ page: 'farm' });
});

test('the agent changes the state of a page that has one, by a merge patch', async () => {
  const client = createAgent('stateful', { initialState: { page: 'farm', filter: { kind: 'goats', old: true } } });
  const changes = { page: 'barn', filter: { old: null, count: 2 }, rows: [1] };
  client.addMessage({ id: 'q1', role: 'user', content: `/tool update_page_state ${JSON.stringify({ changes })}` });
  const types = await run(client);
  expect(types.filter((type) => type === 'STATE_SNAPSHOT')).toHaveLength(2);
  const changed = { page: 'barn', filter: { kind: 'goats', count: 2 }, rows: [1] };
  expect(client.state).toEqual(changed);
  client.addMessage({
    id: 'q2',
    role: 'user',
    content: '/tool update_page_state {"changes":{"__proto__":{"page":"hell"}}}',
  });
  await run(client);
  expect(client.state).toEqual(changed);
  expect(client.state.page).toBe('barn');
  const stateless = createAgent('stateless');
  stateless.addMessage({ id: 'q1', role: 'user', content: '/tool update_page_state {"changes":{"page":"barn"}}' });
  await run(stateless);
  expect(stateless.state).toEqual({});
  expect(stateless.messages.at(-1).content).toContain('no tool');
});

test('a tool of the page: the stream ends at the call, the next run brings the result', async () => {
  const client = createAgent('thermometer');
  const tools = [{ name: 'read_thermometer', description: 'The temperature.', parameters: { type: 'object' } }];
  client.addMessage({ id: 'q1', role: 'user', content: '/tool read_thermometer {"room":"kitchen"}' });
  const types = await run(client, { tools });
  expect(types).not.toContain('TOOL_CALL_RESULT');
  expect(types.at(-1)).toBe('RUN_FINISHED');
  const [call] = client.messages.at(-1).toolCalls;
  expect(call.function).toEqual({ name: 'read_thermometer', arguments: '{"room":"kitchen"}' });
  client.addMessage({ id: 'r1', role: 'tool', toolCallId: call.id, content: '{"celsius":21}' });
  await run(client, { tools });
  expect(client.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'read_thermometer: {"celsius":21}' });
  client.addMessage({ id: 'q2', role: 'user', content: '/long 2' });
  await run(client, { tools, context: [{ description: 'Where', value: 'at home' }] });
  expect(client.messages.at(-1)).toMatchObject({ content: 'word1 word2' });
});

test('a tool that needs approval interrupts the run, and the next run resumes it', async () => {
  await using dir = await createTempDir();
  const paidFile = `${dir.path}/paid`;
  await using bank = await startTestAgent({ plugins: [createBank(paidFile)] });
  const { invocation } = await bank.createUser();
  const client = createAgent('bank', { url: `${bank.url}/agui`, headers: { authorization: `Bearer ${invocation}` } });
  const pay = async (id: string) => {
    client.addMessage({ id, role: 'user', content: '/tool pay {"to":"ben","amount":50}' });
    expect(await run(client)).toContain('TOOL_CALL_END');
    const [call] = client.messages.at(-1).toolCalls;
    expect(client.pendingInterrupts).toMatchObject([{ toolCallId: call.id, message: expect.stringContaining('pay') }]);
    return client.pendingInterrupts[0].id;
  };
  const resume = async (entry: object) => {
    await run(client, { resume: [entry] });
    expect(client.pendingInterrupts).toEqual([]);
    return client.messages.at(-1).content;
  };
  const first = await pay('q1');
  expect(readPaid(paidFile)).toEqual([]);
  expect(await resume({ interruptId: first, status: 'resolved', payload: { approved: true } })).toContain('"paid":50');
  const second = await pay('q2');
  expect(await resume({ interruptId: second, status: 'cancelled' })).toContain('APPROVAL_REFUSED');
  expect(readPaid(paidFile)).toEqual(['ben 50']);
});

test('a sub-agent interrupts the run of its user, and the next run ends its call and it itself', async () => {
  await using dir = await createTempDir();
  const paidFile = `${dir.path}/paid`;
  await using bank = await startTestAgent({ plugins: [createBank(paidFile)] });
  const { invocation } = await bank.createUser();
  const client = createAgent('banker', { url: `${bank.url}/agui`, headers: { authorization: `Bearer ${invocation}` } });
  client.addMessage({ id: 'q1', role: 'user', content: payBySubAgent(50) });
  await run(client);
  const [interrupt] = client.pendingInterrupts;
  expect(interrupt).toMatchObject({ message: expect.stringContaining('pay') });
  const types = await run(client, {
    resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }],
  });
  expect(types.filter((type) => type.startsWith('TOOL_CALL'))).toEqual(['TOOL_CALL_RESULT', 'TOOL_CALL_RESULT']);
  expect(client.messages.at(-1).content).toContain('paid');
  expect(readPaid(paidFile)).toEqual(['ben 50']);
});

test('refusals reach the client', async () => {
  const client = createAgent('refused');
  await expect(client.runAgent()).rejects.toThrow('400');
  const image = { type: 'binary', mimeType: 'image/png', url: 'https://example.org/a.png' };
  client.addMessage({ id: 'q', role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] });
  await expect(client.runAgent()).rejects.toThrow('400');
});
