// The unmodified client of A2A.
import { createTempDir } from '@palaver/test-kit';
import { loadClient } from '@palaver/test-kit/install-tools';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { payBySubAgent } from './ask-approval.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { createGate } from './gate-plugin.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const gate = createGate();
let dir: Awaited<ReturnType<typeof createTempDir>>;
let paidFile: string;
let agent: TestAgent;
let ana: TestUser;
// biome-ignore lint/suspicious/noExplicitAny: the package is not there when types are checked.
let client: any;

beforeAll(async () => {
  const a2a = await loadClient('@a2a-js/sdk/client');
  dir = await createTempDir();
  paidFile = `${dir.path}/paid`;
  agent = await startTestAgent({ plugins: [gate.plugin, createBank(paidFile)] });
  ana = await agent.createUser();
  const fetchImpl = (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${ana.invocation}`);
    return fetch(url, { ...init, headers });
  };
  const factory = new a2a.ClientFactory({
    transports: [new a2a.JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new a2a.DefaultAgentCardResolver({ fetchImpl }),
  });
  client = await factory.createFromUrl(agent.url);
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await dir[Symbol.asyncDispose]();
});

const toMessage = (text: string, contextId = '', taskId = '') => ({
  message: { messageId: 'm', role: 1, contextId, taskId, parts: [{ content: { $case: 'text', value: text } }] },
});
const working = 2;
const completed = 3;
const canceled = 5;
const inputRequired = 6;
const textOf = (task: { artifacts: { parts: { content: { value: string } }[] }[] }) =>
  task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content.value)).join('');

test('the card names the route and how to sign in', async () => {
  const { status, body } = await request(`${agent.url}/.well-known/agent-card.json`);
  expect({ status, interfaces: body.supportedInterfaces }).toEqual({
    status: 200,
    interfaces: [{ url: `${agent.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  });
});

test('send, get and stream: a task is a run, its context a session', async () => {
  const sessionId = await ana.createSession();
  const sent = await client.sendMessage(toMessage('/long 3', sessionId));
  const task = sent.payload?.value ?? sent;
  expect(task).toMatchObject({ contextId: sessionId, status: { state: completed } });
  expect(textOf(task)).toBe('word1 word2 word3');
  const found = await client.getTask({ id: task.id });
  expect(textOf(found)).toBe('word1 word2 word3');
  expect(await ana.messages(sessionId)).toHaveLength(2);
  let text = '';
  let state: number | undefined;
  for await (const { payload } of client.sendMessageStream(toMessage('/long 4', sessionId))) {
    if (payload.$case === 'artifactUpdate') text += textOf({ artifacts: [payload.value.artifact] });
    if (payload.$case === 'statusUpdate') ({ state } = payload.value.status);
  }
  expect({ text, state }).toEqual({ text: 'word1 word2 word3 word4', state: completed });
});

test('a task under way is read again and cancelled; nobody else finds it', async () => {
  const { message } = toMessage('/tool gate {}');
  const sent = await client.sendMessage({ message, configuration: { returnImmediately: true } });
  const { id } = sent.payload?.value ?? sent;
  await gate.reached();
  const states: number[] = [];
  const reading = (async () => {
    for await (const { payload } of client.resubscribeTask({ id }))
      if (payload.$case === 'statusUpdate') states.push(payload.value.status.state);
  })();
  expect(await client.cancelTask({ id })).toMatchObject({ status: { state: canceled } });
  await reading;
  expect(states).toEqual([canceled]);
  await expect(client.cancelTask({ id })).rejects.toThrow();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } });
  const ben = await agent.createUser();
  const headers = { authorization: `Bearer ${ben.invocation}`, 'content-type': 'application/json' };
  const stolen = await request(`${agent.url}/a2a`, { method: 'POST', headers, body });
  expect(stolen.body).toMatchObject({ id: 1, error: { code: -32001 } });
});

const pay = async (amount: number, text = `/tool pay {"to":"ben","amount":${amount}}`) => {
  const sent = await client.sendMessage(toMessage(text));
  const { id, contextId, status } = sent.payload?.value ?? sent;
  expect(status.state).toBe(inputRequired);
  const [, approvalId = ''] = /approve (\S+) or refuse/.exec(status.message.parts[0].content.value) ?? [];
  return { id, contextId, approvalId };
};

test('a task that needs approval asks for input, and a message that names the approval answers', async () => {
  const { id, contextId, approvalId } = await pay(50);
  expect(await client.getTask({ id })).toMatchObject({ status: { state: inputRequired } });
  for (const text of ['perhaps', 'approve', 'approve another'])
    await expect(client.sendMessage(toMessage(text, contextId, id))).rejects.toThrow('all that are open must be');
  expect(readPaid(paidFile)).toEqual([]);
  const answered = await client.sendMessage(toMessage(`approve ${approvalId}`, contextId, id));
  const task = answered.payload?.value ?? answered;
  expect(task).toMatchObject({ id, status: { state: completed } });
  expect(textOf(task)).toContain('"paid":50');
  expect(readPaid(paidFile)).toEqual(['ben 50']);
});

test('a task whose sub-agent needs approval asks for input', async () => {
  const before = readPaid(paidFile).length;
  const { id, contextId, approvalId } = await pay(55, payBySubAgent(55));
  const answered = await client.sendMessage(toMessage(`approve ${approvalId}`, contextId, id));
  expect(answered.payload?.value ?? answered).toMatchObject({ id, status: { state: completed } });
  expect(readPaid(paidFile).slice(before)).toEqual(['ben 55']);
});

test('an answer that is sent again has the result of the first, approves nothing else and is no question', async () => {
  const headers = { authorization: `Bearer ${ana.invocation}`, 'content-type': 'application/json' };
  const send = (taskId: string, part: object) => {
    const params = { message: { messageId: 'm', role: 'ROLE_USER', taskId, parts: [part] } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
    return request(`${agent.url}/a2a`, { method: 'POST', headers, body });
  };
  const paid = readPaid(paidFile).length;
  const [first, second] = [await pay(51), await pay(52)];
  const answer = { data: { approvalId: first.approvalId, approved: true } };
  expect((await send(second.id, answer)).body.error.code).toBe(-32602);
  const { status, artifacts } = (await send(first.id, answer)).body.result.task;
  expect(status.state).toBe('TASK_STATE_COMPLETED');
  for (const part of [answer, { text: `approve ${first.approvalId}` }])
    expect((await send(first.id, part)).body.result.task).toMatchObject({ status: { state: status.state }, artifacts });
  for (const part of [{ text: `refuse ${first.approvalId}` }, { text: 'hello' }])
    expect((await send(first.id, part)).body.error).toMatchObject({ code: -32004 });
  expect(await ana.messages(first.contextId)).toHaveLength(2);
  const both = { text: `approve ${second.approvalId}\nrefuse ${second.approvalId}` };
  expect((await send(second.id, both)).body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(readPaid(paidFile).slice(paid)).toEqual(['ben 51']);
});

test('a task that waits behind another is read without waiting for it', async () => {
  const contextId = await ana.createSession();
  const open = async (text: string) => {
    const { message } = toMessage(text, contextId);
    const sent = await client.sendMessage({ message, configuration: { returnImmediately: true } });
    return (sent.payload?.value ?? sent).id;
  };
  const first = await open('/tool gate {}');
  await gate.reached();
  const second = await open('/long 2');
  expect(await client.getTask({ id: second })).toMatchObject({ status: { state: working } });
  expect(await client.cancelTask({ id: second })).toMatchObject({ status: { state: canceled } });
  await client.cancelTask({ id: first });
  expect(await client.getTask({ id: second })).toMatchObject({ status: { state: canceled } });
});
