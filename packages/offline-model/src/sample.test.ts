import { expect, test } from 'vitest';
import { z } from 'zod';
import { createOfflineModel } from './create-offline-model.ts';

const schema = z.object({
  crop: z.enum(['beans', 'maize']),
  note: z.string().min(3).max(12),
  kilograms: z.number().min(1),
  bags: z.int(),
  paid: z.boolean(),
  places: z.array(z.object({ name: z.string() })).min(2),
  contact: z.union([z.email(), z.null()]),
  kind: z.literal('sale'),
});
const model = createOfflineModel({ modelId: 'offline', wordsPerSecond: 40 });
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: '40.5 kg of maize in 3 bags' }] }];
const json = z.toJSONSchema(schema) as Record<string, unknown>;

test('the offline model answers in the form that is asked for', async () => {
  const { content } = await model.doGenerate({ prompt, responseFormat: { type: 'json', schema: json } });
  const [part] = content;
  const answer = schema.parse(JSON.parse(part?.type === 'text' ? part.text : ''));
  expect(answer).toMatchObject({ crop: 'maize', kilograms: 40.5, bags: 3 });
});

test.each([{ type: 'required' as const }, { type: 'tool' as const, toolName: 'sell' }])(
  'the offline model calls the tool that it has to call: %j',
  async (toolChoice) => {
    const tools = [{ type: 'function' as const, name: 'sell', inputSchema: json }];
    const { content } = await model.doGenerate({ prompt, tools, toolChoice });
    const call = content.find((part) => part.type === 'tool-call');
    expect(call?.toolName).toBe('sell');
    expect(schema.safeParse(JSON.parse(call?.input ?? '')).success).toBe(true);
  },
);

const root = { $ref: '#' };
const parts = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`part${at}`, root]));
test.each([
  ['a list without end', { type: 'array', minItems: 1e9, items: { type: 'string' } }],
  ['lists of lists', { type: 'array', minItems: 1e4, items: root }],
  ['a long text', { type: 'string', minLength: 5e8 }],
  ['many long texts', { type: 'array', minItems: 1e4, items: { type: 'string', minLength: 1e6 } }],
  ['an object that holds itself', { type: 'object', properties: parts }],
  ['parts that are the whole', { allOf: Array.from({ length: 20 }, () => root) }],
  ['names that every object has', { type: 'constructor', format: 'constructor' }],
  ['a format that every object has', { type: 'string', format: 'constructor' }],
  ['a reference to what every object has', { $ref: '#/constructor' }],
  ['a reference to nothing', { $ref: '#/$defs/none/none' }],
])('a stranger asks for %s: the answer stays small', async (_what, asked) => {
  const { content } = await model.doGenerate({
    prompt,
    responseFormat: { type: 'json', schema: asked as Record<string, unknown> },
  });
  const [part] = content;
  expect(part?.type === 'text' ? part.text.length : 0).toBeLessThan(200_000);
});
