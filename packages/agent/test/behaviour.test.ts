// What an author sets when the application is created: instructions, model, settings, steps, the form of answers.

import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/define/plugin.ts';
import { createAgent } from '../src/index.ts';
import { createScriptedModel } from '../src/models/scripted-model.ts';
import { callTools, say, startOpenAiServer } from './openai-server.ts';
import { startTestAgent, type TestAgentOptions } from './test-agent.ts';

const counter = defineOraclePlugin({
  name: 'counter',
  version: '1.0.0',
  manifest: { title: 'Counter', summary: 'Counts.', whenToUse: [], visibility: 'silent', stability: 'stable' },
  getTools: () => ({ count: { description: 'Counts', inputSchema: z.object({}), execute: () => 1 } }),
});

async function ask(options: TestAgentOptions, message = 'hi') {
  await using agent = await startTestAgent({ plugins: [counter], ...options });
  const user = await agent.createUser();
  const { body } = await user.say(await user.createSession(), message);
  return body.message;
}

it('a model of its own with instructions as text', async () => {
  const model = createScriptedModel([{ text: 'Plant in May.' }], 'my-model');
  expect(await ask({ model, instructions: 'You advise farmers.' })).toMatchObject({ content: 'Plant in May.' });
  expect(model.systemPrompts()[0]).toContain('You advise farmers.');
});

it('functions that pick the model and write the instructions, before every step', async () => {
  const model = createScriptedModel([{ toolCalls: [{ name: 'count' }] }, { text: 'One.' }]);
  let asked = 0;
  const answer = await ask({
    model: async ({ message }) => (message.message === 'hi' ? model : createScriptedModel([])),
    instructions({ user }) {
      asked += 1;
      return `Step ${asked} for ${user.did}.`;
    },
  });
  expect(answer.content).toBe('One.');
  expect(model.systemPrompts().map((prompt) => /Step \d for did:key/.exec(prompt)?.[0])).toEqual([
    'Step 1 for did:key',
    'Step 2 for did:key',
  ]);
});

it('settings of the call reach the provider; the choice of a tool holds for the first step', async () => {
  await using server = await startOpenAiServer(callTools([{ name: 'count', args: '{}' }]), say('One.'));
  await ask({
    env: { LLM_BASE_URL: server.url },
    callSettings: { temperature: 0.25, maxOutputTokens: 77, toolChoice: { type: 'tool', toolName: 'count' } },
  });
  const [first, second] = server.requests.map(({ body }) => body);
  expect(first).toMatchObject({ temperature: 0.25, max_tokens: 77, tool_choice: { function: { name: 'count' } } });
  expect(second).toMatchObject({ temperature: 0.25, max_tokens: 77, tool_choice: 'auto' });
});

it('a limit of steps ends a turn with an answer that says so', async () => {
  const again = { toolCalls: [{ name: 'count' }] };
  const model = createScriptedModel([again, again, { text: 'At least two.' }]);
  expect(await ask({ model, maxSteps: 2 })).toMatchObject({ content: 'At least two.', finish: 'step_limit' });
  expect(model.calls[2]?.toolChoice).toEqual({ type: 'none' });
});

it.each([
  ['{"price": 3}', { status: 'complete', content: '{"price": 3}' }],
  ['{"price": "three"}', { status: 'failed', error: { code: 'MODEL_FAILED', kind: 'model', retryable: true } }],
  ['three', { status: 'failed', error: { code: 'MODEL_FAILED' } }],
])('answers have the form that is asked for: %s', async (text, expected) => {
  const model = createScriptedModel([{ text }]);
  expect(await ask({ model, output: z.object({ price: z.number() }) })).toMatchObject(expected);
  expect(model.calls[0]?.responseFormat).toMatchObject({
    type: 'json',
    schema: { properties: { price: { type: 'number' } } },
  });
});

it('an agent can do without the bundled plugins', async () => {
  const model = createScriptedModel([{ text: 'Alone.' }]);
  await ask({ model, create: createAgent });
  expect(model.calls[0]?.tools?.map(({ name }) => name)).toEqual(['count']);
});
