import { agentLimits } from '@palaver/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

let agent: TestAgent;
let ana: TestUser;
beforeAll(async () => {
  agent = await startTestAgent();
  ana = await agent.createUser();
});
afterAll(() => agent[Symbol.asyncDispose]());

const toCall = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } });
const answer = (ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(toCall) });
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'seen' });
const chat = (messages: object[]) =>
  ana.send('POST', '/v1/chat/completions', { messages: [...messages, { role: 'user', content: 'hello' }] });

test('an answer with two calls of one id is refused', async () => {
  const { status, body } = await chat([answer(Array(300).fill('call_1'))]);
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ param: 'messages', message: expect.stringContaining('same id') });
});

test('servers that number their calls from the start in every answer are understood', async () => {
  const { status, body } = await chat([answer(['call_0']), result('call_0'), answer(['call_0']), result('call_0')]);
  expect(status).toBe(200);
  expect(body.choices[0].finish_reason).toBe('stop');
});

test('a conversation has a limit of calls', async () => {
  const ids = Array.from({ length: agentLimits.earlierCalls + 1 }, (_, at) => `call_${at}`);
  expect((await chat([answer(ids.slice(1))])).status).toBe(200);
  expect((await chat([answer(ids)])).status).toBe(400);
});

test('calls of one id are as many as were sent on the door of responses', async () => {
  const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'seen' };
  const input = [...Array(150).fill(call), ...Array(150).fill(output), { role: 'user', content: 'hello' }];
  expect((await ana.send('POST', '/v1/responses', { input })).status).toBe(200);
});
