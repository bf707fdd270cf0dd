import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import * as ai from 'ai';
import { z } from 'zod';
import { runCases } from './cases.js';

const { generateText, isStepCount, Output, streamText, tool } = ai;
const schema = z.object({ goats: z.number().int(), cows: z.number().int() });
const prompt = 'Twelve goats are 12 and three cows are 3.';
const at = { baseURL: `${process.env.AGENT_URL}/v1`, apiKey: process.env.TOKEN };
const openai = createOpenAI(at);
const models = {
  Chat: openai.chat('offline'),
  Responses: openai.responses('offline'),
  Compatible: createOpenAICompatible({ ...at, name: 'palaver', supportsStructuredOutputs: true })('offline'),
};
const tools = {
  count_goats: tool({
    description: 'How many goats of a colour there are.',
    inputSchema: z.object({ colour: z.string() }),
    execute: async ({ colour }) => `3 ${colour} goats`,
  }),
};
const herd = { goats: 12, cows: 3 };

const cases = Object.entries(models).flatMap(([name, model]) => [
  [
    `generateObject${name}`,
    async () => assert.deepEqual((await ai.generateObject({ model, schema, prompt })).object, herd),
  ],
  [
    `output${name}`,
    async () =>
      assert.deepEqual((await generateText({ model, output: Output.object({ schema }), prompt })).output, herd),
  ],
  [
    `streamedOutput${name}`,
    async () => assert.deepEqual(await streamText({ model, output: Output.object({ schema }), prompt }).output, herd),
  ],
  [
    `choice${name}`,
    async () => {
      const output = Output.choice({ options: ['goat', 'cow'] });
      assert.equal((await generateText({ model, output, prompt: 'It is a cow.' })).output, 'cow');
    },
  ],
  [
    `tools${name}`,
    async () => {
      const question = '/tool count_goats {"colour": "white"}';
      const { text, steps } = await generateText({ model, tools, prompt: question, stopWhen: isStepCount(3) });
      assert.match(text, /3 white goats/);
      assert.equal(steps.length, 2);
    },
  ],
  [
    `requiredTool${name}`,
    async () => {
      const { toolCalls } = await generateText({ model, tools, toolChoice: 'required', prompt: 'white' });
      assert.equal(toolCalls[0]?.toolName, 'count_goats');
    },
  ],
]);
await runCases(Object.fromEntries(cases));
