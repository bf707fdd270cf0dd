// What callers and tools give as the result of a call reaches the model unchanged: every digit, no quotes added.
import { expect, test } from 'vitest';
import { createScriptedModel, defineOraclePlugin, type ScriptedModel } from '../src/index.ts';
import { startTestAgent } from './test-agent.ts';

const texts = ['{"id":12345678901234567890,"amount":1.0}', 'sunny', '"quoted"', '007', 'null'];
const tool = { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } };

const resultsIn = ({ calls }: ScriptedModel) =>
  calls.map(({ prompt }) =>
    prompt.flatMap((message) =>
      message.role === 'tool' ? message.content.flatMap((part) => ('output' in part ? [part.output] : [])) : [],
    ),
  );

const weather = defineOraclePlugin({
  name: 'weather',
  version: '1.0.0',
  manifest: { title: 'W', summary: 'Weather.', whenToUse: ['always'], visibility: 'always', stability: 'stable' },
  getTools: () => ({ weather: { description: 'Weather.', inputSchema: {}, public: true, execute: () => 'sunny' } }),
});

test.each(texts)('chat completions, responses and AG-UI give the model %s', async (text) => {
  const model = createScriptedModel([{ text: 'a' }, { text: 'b' }, { toolCalls: [{ name: 'read' }] }, { text: 'c' }]);
  await using agent = await startTestAgent({ model });
  const ana = await agent.createUser();
  const call = { id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } };
  const messages = [
    { role: 'user', content: 'Read it.' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: text },
  ];
  await ana.send('POST', '/v1/chat/completions', { messages, tools: [{ type: 'function', function: tool }] });
  const input = [
    { role: 'user', content: 'Read it.' },
    { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: text },
  ];
  await ana.send('POST', '/v1/responses', { input, tools: [{ type: 'function', ...tool }] });
  const asked = { threadId: 't', runId: 'r1', tools: [tool], messages: [{ id: '1', role: 'user', content: 'Read.' }] };
  const { body: stream } = await ana.send('POST', '/agui', asked);
  const [, toolCallId = ''] = /"toolCallId":"([^"]+)"/.exec(stream) ?? [];
  const result = [
    { id: '2', role: 'assistant' },
    { id: '3', role: 'tool', toolCallId, content: text },
  ];
  await ana.send('POST', '/agui', { ...asked, runId: 'r2', messages: [...asked.messages, ...result] });
  const verbatim = [{ type: 'text', value: text }];
  expect(resultsIn(model)).toEqual([verbatim, verbatim, [], verbatim]);
});

test('a text that a tool of the agent gives has no quotes for the model, now and in later turns, nor for MCP', async () => {
  const model = createScriptedModel([{ toolCalls: [{ name: 'weather' }] }, { text: 'a' }, { text: 'b' }]);
  await using agent = await startTestAgent({ model, plugins: [weather] });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  await ana.say(sessionId, 'How is the weather?');
  await ana.say(sessionId, 'And now?');
  const verbatim = [{ type: 'text', value: 'sunny' }];
  expect(resultsIn(model)).toEqual([[], verbatim, verbatim]);
  const { body } = await ana.send(
    'POST',
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', arguments: {} } },
    { accept: 'application/json, text/event-stream' },
  );
  expect(body).toContain('"content":[{"type":"text","text":"sunny"}]');
});
