import assert from 'node:assert/strict';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { runCases } from './cases.js';

setTracingDisabled(true);
const outputType = z.object({ goats: z.number().int(), cows: z.number().int() });
const said = 'Twelve goats are 12 and three cows are 3.';
const countGoats = tool({
  name: 'count_goats',
  description: 'How many goats of a colour there are.',
  parameters: z.object({ colour: z.string() }),
  execute: async ({ colour }) => `3 ${colour} goats`,
});
const question = '/tool count_goats {"colour": "white"}';

const cases = [true, false].flatMap((useResponses) => {
  const name = useResponses ? 'Responses' : 'Chat';
  const at = { baseURL: `${process.env.AGENT_URL}/v1`, apiKey: process.env.TOKEN };
  const runner = new Runner({ modelProvider: new OpenAIProvider({ ...at, useResponses }), model: 'offline' });
  const agent = new Agent({ name: 'farm', instructions: 'You count goats.', tools: [countGoats] });
  return [
    [
      `outputType${name}`,
      async () => {
        const { finalOutput } = await runner.run(new Agent({ name: 'farm', outputType }), said);
        assert.deepEqual(finalOutput, { goats: 12, cows: 3 });
      },
    ],
    [`tools${name}`, async () => assert.match((await runner.run(agent, question)).finalOutput, /3 white goats/)],
    [
      `streams${name}`,
      async () => {
        const streamed = await runner.run(agent, question, { stream: true });
        let words = '';
        for await (const piece of streamed.toTextStream()) words += piece;
        await streamed.completed;
        assert.match(words, /3 white goats/);
      },
    ],
  ];
});
await runCases(Object.fromEntries(cases));
