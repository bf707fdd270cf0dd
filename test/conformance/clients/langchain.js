import assert from 'node:assert/strict';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { runCases } from './cases.js';

const Herd = z.object({ goats: z.number().int(), cows: z.number().int() });
const said = 'Twelve goats are 12 and three cows are 3.';
const create = (more = {}) =>
  new ChatOpenAI({
    model: 'offline',
    apiKey: process.env.TOKEN,
    configuration: { baseURL: `${process.env.AGENT_URL}/v1` },
    ...more,
  });
const responses = { useResponsesApi: true };
const structured = (method, more) => async () => {
  const herd = await create(more).withStructuredOutput(Herd, { name: 'herd', method }).invoke(said);
  assert.deepEqual(herd, { goats: 12, cows: 3 });
};
const countGoats = tool(async ({ colour }) => `3 ${colour} goats`, {
  name: 'count_goats',
  description: 'How many goats of a colour there are.',
  schema: z.object({ colour: z.string() }),
});
const callsTools = (more) => async () => {
  const bound = create(more).bindTools([countGoats]);
  const question = new HumanMessage('/tool count_goats {"colour": "white"}');
  const asked = await bound.invoke([question]);
  const [call] = asked.tool_calls;
  assert.deepEqual(call.args, { colour: 'white' });
  const result = new ToolMessage({ content: await countGoats.invoke(call.args), tool_call_id: call.id });
  assert.match((await bound.invoke([question, asked, result])).text, /3 white goats/);
};

await runCases({
  jsonSchema: structured('jsonSchema'),
  functionCalling: structured('functionCalling'),
  jsonSchemaOfResponses: structured('jsonSchema', responses),
  functionCallingOfResponses: structured('functionCalling', responses),
  callsTools: callsTools(),
  callsToolsByResponses: callsTools(responses),
  async streamsObjects() {
    const model = create().withStructuredOutput(Herd, { name: 'herd', method: 'jsonSchema' });
    let last;
    for await (const part of await model.stream(said)) last = part;
    assert.deepEqual(last, { goats: 12, cows: 3 });
  },
});
