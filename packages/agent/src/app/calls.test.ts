import { tool as aiTool, jsonSchema } from '@ai-sdk/provider-utils';
import { createOfflineModel } from '@palaver/offline-model';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { defineOraclePlugin } from '../define/plugin.ts';
import { tool } from '../define/tool.ts';
import type { ScriptedStep } from '../models/scripted-model.ts';
import { createTestRuntime, type TestRuntimeOptions } from './create-test-runtime.ts';

async function open(model: ScriptedStep[], options: TestRuntimeOptions = {}) {
  const runtime = await createTestRuntime({ model, ...options });
  onTestFinished(() => runtime.close());
  return runtime;
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const price = z.object({ crop: z.string(), cents: z.number() });

test('an answer in the form that is asked for, in a session that is removed', async () => {
  const app = await open([{ text: '{"crop":"maize","cents":12}' }]);
  const { output, sessionId } = await app.generate('The price of maize?', { output: price });
  expect(output.cents).toBe(12);
  const own = app.store.db.selectFrom('agent_session').where('id', '=', sessionId);
  await expect.poll(() => own.select('id').execute()).toEqual([]);
});

test.each([
  ['{"crop":"maize"}', 'MODEL_FAILED'],
  ['maize', 'MODEL_FAILED'],
])('an answer of another form is an error: %s', async (text, code) => {
  const app = await open([{ text }]);
  await expect(app.generate('The price of maize?', { output: price })).rejects.toMatchObject({ code });
});

test('the model is asked for that form, and for the tool that is named', async () => {
  const asked: unknown[] = [];
  const app = await open(
    [
      (call) => {
        asked.push(call.responseFormat, call.toolChoice);
        return { text: '{"crop":"maize","cents":12}' };
      },
    ] as ScriptedStep[],
    { tools: { look: tool({ description: 'Looks.', inputSchema: z.object({}), execute: () => 1 }) } },
  );
  await app.generate('Price?', { output: price, toolChoice: { type: 'tool', toolName: 'look' } });
  expect(asked).toMatchObject([{ type: 'json', schema: { required: ['crop', 'cents'] } }, { toolName: 'look' }]);
});

test('a stream gives the words, the object as it grows, and the answer', async () => {
  const app = await open([{ text: '{"crop":"maize","cents":12}' }]);
  const { textStream, partialOutputStream, answer } = await app.stream('Price?', { output: price });
  const texts = await collect(textStream);
  expect(texts.join('')).toBe('{"crop":"maize","cents":12}');
  const partial = await collect(partialOutputStream);
  expect(partial.at(-1)).toEqual({ crop: 'maize', cents: 12 });
  expect((await answer).output).toEqual({ crop: 'maize', cents: 12 });
});

test('a long object is read again only as it grows', async () => {
  const app = await open([], { model: createOfflineModel({ modelId: 'offline', wordsPerSecond: 1_000_000 }) });
  const said = 'word '.repeat(6_000);
  const { textStream, partialOutputStream } = await app.stream(said, {
    output: z.object({ text: z.string().max(100_000) }),
  });
  expect((await collect(textStream)).length).toBeGreaterThan(5_000);
  const partial = await collect(partialOutputStream);
  expect(partial.length).toBeLessThan(500);
  expect(partial.at(-1)).toEqual({ text: said });
});

test('a session of a name continues', async () => {
  const app = await open([{ text: 'Hello Ana.' }, { text: 'Ana.' }]);
  await app.session('order-17').generate('I am Ana.');
  const session = app.session('order-17');
  expect((await session.generate('Who am I?')).text).toBe('Ana.');
  expect((await session.messages()).map(({ content }) => content)).toEqual([
    'I am Ana.',
    'Hello Ana.',
    'Who am I?',
    'Ana.',
  ]);
});

const pay = tool({ description: 'Pays.', inputSchema: z.object({}), needsApproval: true, execute: () => 'paid' });
const payOnce: ScriptedStep[] = [{ toolCalls: [{ name: 'pay', args: {} }] }, { text: 'ok' }];

test.each([
  [undefined, 'error'],
  [() => true, 'done'],
])('what a tool asks in the name of the agent is decided by `approve`', async (approve, status) => {
  const app = await open(payOnce, { tools: { pay } });
  const { message } = await app.generate('pay', approve && { approve });
  expect(message.toolCalls).toMatchObject([{ name: 'pay', status }]);
});

const wait = tool({
  description: 'Waits.',
  inputSchema: z.object({}),
  execute: (_args, { abortSignal }) =>
    new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason))),
});

test('a run ends with its signal', async () => {
  const app = await open([{ toolCalls: [{ name: 'wait', args: {} }] }], { tools: { wait } });
  const stop = new AbortController();
  const answer = app.generate('wait', { signal: stop.signal });
  setTimeout(() => stop.abort(new Error('enough')), 50);
  await expect(answer).rejects.toThrow('enough');
});

test('a run ends with a signal that fires while it begins', async () => {
  const stop = new AbortController();
  const late = defineOraclePlugin({
    name: 'late',
    version: '1.0.0',
    manifest: { title: 'L', summary: 'L.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getMiddlewares: () => [{ beforeSend: () => stop.abort(new Error('enough')) }],
  });
  const app = await open([{ toolCalls: [{ name: 'wait', args: {} }] }], { tools: { wait }, plugins: [late] });
  await expect(app.generate('wait', { signal: stop.signal })).rejects.toThrow('enough');
});

const user = 'did:key:z6MkAna';

async function expectNoLiveRun({ store }: Awaited<ReturnType<typeof open>>): Promise<void> {
  const live = store.db.selectFrom('agent_run').where('ended_at', 'is', null);
  await expect.poll(() => live.select('id').execute()).toEqual([]);
}

test('a run ends where `approve` fails', async () => {
  const app = await open(payOnce, { tools: { pay } });
  const approve = () => Promise.reject(new Error('nobody is there'));
  await expect(app.session('order-17', { user }).generate('pay', { approve })).rejects.toThrow('nobody is there');
  await expectNoLiveRun(app);
});

test('a run ends with its signal though `approve` does not', async () => {
  const app = await open(payOnce, { tools: { pay } });
  const stop = new AbortController();
  const approve = () => {
    stop.abort(new Error('enough'));
    return new Promise<boolean>(() => {});
  };
  const answer = app.session('order-17', { user }).generate('pay', { approve, signal: stop.signal });
  await expect(answer).rejects.toThrow('enough');
  await expectNoLiveRun(app);
});

test('the first answer to an approval counts', async () => {
  const app = await open(payOnce, { tools: { pay } });
  const { runId, events, answer } = await app.session('order-17', { user }).stream('pay', {
    async approve({ approvalId }) {
      await app.ctx.answerApproval({ userDid: user, runId, approvalId, approved: true });
      return false;
    },
  });
  await collect(events);
  expect((await answer).message.toolCalls).toMatchObject([{ name: 'pay', output: 'paid' }]);
});

test('whatever is given as `needsApproval` asks, unless it is false', async () => {
  const asking = { ...pay, needsApproval: 'always' as unknown as boolean };
  const app = await open(payOnce, { tools: { pay: asking } });
  expect((await app.generate('pay')).message.toolCalls).toMatchObject([{ name: 'pay', status: 'error' }]);
});

const schemas = {
  'zod 4': z.object({ place: z.string() }),
  'zod 3': z3.object({ place: z3.string() }),
  'the AI SDK': jsonSchema<{ place: string }>({
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
  }),
  'JSON Schema': { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
};

test.each(Object.entries(schemas))(
  'arguments described by %s are checked, and their tool runs',
  async (_name, schema) => {
    const weather = tool({ description: 'Weather.', inputSchema: schema, execute: ({ place }) => `rain in ${place}` });
    const calls = (args: object): ScriptedStep => ({ toolCalls: [{ name: 'weather', args: { ...args } }] });
    const app = await open([calls({ place: 5 }), calls({ place: 'Kisumu' }), { text: 'ok' }], { tools: { weather } });
    const { message } = await app.generate('weather?');
    expect(message.toolCalls).toMatchObject([
      { error: expect.stringContaining('place') },
      { output: 'rain in Kisumu', status: 'done' },
    ]);
  },
);

test('a tool of the AI SDK runs unchanged, with what it takes', async () => {
  const seen: unknown[] = [];
  const weather = aiTool({
    description: 'Weather.',
    inputSchema: z.object({ place: z.string() }),
    needsApproval: ({ place }) => place === 'Mars',
    execute: ({ place }, { toolCallId, messages }) => {
      seen.push(typeof toolCallId, messages);
      return { place, sky: 'clear' };
    },
  });
  const app = await open(
    [
      { toolCalls: [{ name: 'weather', args: { place: 'Kisumu' } }] },
      { toolCalls: [{ name: 'weather', args: { place: 'Mars' } }] },
      { text: 'ok' },
    ],
    { tools: { weather } },
  );
  const { message } = await app.generate('weather?');
  expect(message.toolCalls).toMatchObject([{ output: { place: 'Kisumu', sky: 'clear' } }, { status: 'error' }]);
  expect(seen).toEqual(['string', [{ role: 'user', content: 'weather?' }]]);
});

test('a generator shows its values while it runs, and the last one is the result', async () => {
  const count = tool({
    description: 'Counts.',
    inputSchema: z.object({}),
    async *execute() {
      yield { counted: 1 };
      yield { counted: 12 };
    },
  });
  const app = await open([{ toolCalls: [{ name: 'count', args: {} }] }, { text: 'ok' }], { tools: { count } });
  const { events, answer } = await app.stream('count');
  const shown = (await collect(events)).flatMap(({ name, data }) =>
    name === 'tool_call' ? [[data.status, data.output]] : [],
  );
  expect(shown).toEqual([
    ['isRunning', undefined],
    ['isRunning', { counted: 1 }],
    ['done', { counted: 12 }],
  ]);
  expect((await answer).message.toolCalls).toMatchObject([{ output: { counted: 12 } }]);
});
