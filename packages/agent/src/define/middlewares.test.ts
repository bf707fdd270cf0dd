import { AppError } from '@palaver/contract';
import { createLogger } from '@palaver/service-kit';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestPlugin } from '../../test/test-plugin.ts';
import { createTestRuntime } from '../app/create-test-runtime.ts';
import { createScriptedModel, type ScriptedStep } from '../models/scripted-model.ts';
import type { Middleware, TurnEnd } from './middleware.ts';
import type { OraclePlugin } from './plugin.ts';
import { ToolError } from './runtime-context.ts';

const useTool: ScriptedStep[] = [{ toolCalls: [{ name: 'double', args: { n: 2 } }] }, { text: 'done' }];

function createDoubler(): OraclePlugin & { runs: number } {
  const plugin = Object.assign(
    createTestPlugin({
      name: 'doubler',
      getTools: () => ({
        double: {
          description: 'Doubles a number.',
          inputSchema: z.object({ n: z.number() }),
          execute({ n }: { n: number }) {
            plugin.runs += 1;
            return n * 2;
          },
        },
      }),
    }),
    { runs: 0 },
  );
  return plugin;
}

async function runWith(middlewares: Record<string, Middleware>, steps: ScriptedStep[] = useTool) {
  const lines: string[] = [];
  const logger = createLogger({ name: 'test', level: 'info', destination: { write: (line) => void lines.push(line) } });
  const model = createScriptedModel(steps);
  const doubler = createDoubler();
  const plugins = Object.entries(middlewares).map(([name, middleware]) =>
    createTestPlugin({ name, getMiddlewares: () => [middleware] }),
  );
  const runtime = await createTestRuntime(doubler, { plugins, model, logger });
  const turn = await runtime.send('go');
  await runtime.close();
  return { ...turn, model, doubler, log: lines.join('') };
}

const errorOf = ({ events }: Awaited<ReturnType<typeof runWith>>) =>
  events.find((event) => event.name === 'error')?.data;

test('wrapTurn is around the whole turn; one that breaks is left out, and the turn is made once', async () => {
  const order: string[] = [];
  const { message, model, doubler, log } = await runWith({
    around: {
      async wrapTurn(next) {
        order.push('in');
        await next();
        order.push('out');
      },
      afterModel: () => void order.push('model'),
    },
    early: { wrapTurn: () => Promise.reject(new Error('early')) },
    late: { wrapTurn: (next) => next().then(() => Promise.reject(new Error('late'))) },
  });
  expect(order).toEqual(['in', 'model', 'model', 'out']);
  expect([message.content, model.calls.length, doubler.runs]).toEqual(['done', 2, 1]);
  expect(log).toContain('early');
  expect(log).toContain('late');
});

test('hooks run in the order plugins are loaded, the first wrapper outermost', async () => {
  const order: string[] = [];
  const traced = (name: string): Middleware => ({
    beforeModel: () => void order.push(`${name} before`) as undefined,
    async wrapModelCall(call, next) {
      order.push(`${name} model in`);
      const result = await next(call);
      order.push(`${name} model out`);
      return result;
    },
    afterModel: () => void order.push(`${name} after`),
    async wrapToolCall(call, next) {
      order.push(`${name} tool in`);
      const output = await next(call);
      order.push(`${name} tool out`);
      return output;
    },
  });
  const { message } = await runWith({ a: traced('a'), b: traced('b') });
  const step = ['before', 'model in', 'model out', 'after'];
  expect(message).toMatchObject({ status: 'complete', content: 'done' });
  const model = [
    'a before',
    'b before',
    'a model in',
    'b model in',
    'b model out',
    'a model out',
    'a after',
    'b after',
  ];
  expect(order).toEqual([...model, 'a tool in', 'b tool in', 'b tool out', 'a tool out', ...model]);
  expect(order.filter((entry) => entry.startsWith('a'))).toHaveLength(2 * step.length + 2);
});

test('what is changed on the way arrives: the prompt, the result, the arguments, the output', async () => {
  const { message, model, doubler } = await runWith({
    changer: {
      beforeModel: (call) => ({ ...call, prompt: [...call.prompt, { role: 'system', content: 'Be quick.' }] }),
      wrapModelCall: async (call, next) => {
        const result = await next(call);
        return result.toolCalls.length > 0
          ? { ...result, toolCalls: result.toolCalls.map((toolCall) => ({ ...toolCall, args: { n: 5 } })) }
          : result;
      },
      wrapToolCall: async (call, next) => `${await next({ ...call, args: { n: Number(call.args.n) + 1 } })}!`,
    },
  });
  expect(model.systemPrompts()[0]).toContain('Be quick.');
  expect(message.toolCalls).toMatchObject([{ name: 'double', args: { n: 5 }, output: '12!', status: 'done' }]);
  expect(doubler.runs).toBe(1);
});

const boom = () => Promise.reject(new Error('boom'));
const broken: [string, Middleware][] = [
  ['beforeModel', { beforeModel: boom }],
  ['wrapModelCall before the call', { wrapModelCall: boom }],
  ['wrapModelCall after the call', { wrapModelCall: (call, next) => next(call).then(boom) }],
  ['afterModel', { afterModel: boom }],
  ['wrapToolCall before the call', { wrapToolCall: boom }],
  ['wrapToolCall after the call', { wrapToolCall: (call, next) => next(call).then(boom) }],
];

test.each(broken)(
  'a broken %s is left out and logged; the turn continues and nothing is done twice',
  async (_hook, broken) => {
    const { message, model, doubler, log } = await runWith({ broken });
    expect(message).toMatchObject({ status: 'complete', content: 'done', toolCalls: [{ output: 4, status: 'done' }] });
    expect(model.calls).toHaveLength(2);
    expect(doubler.runs).toBe(1);
    expect(log).toContain('"plugin":"broken"');
    expect(log).toContain('boom');
  },
);

const refuse = () => Promise.reject(new AppError('FORBIDDEN', 'Not on a Sunday.'));
const onPurpose: [string, Middleware][] = [
  ['beforeModel', { beforeModel: refuse }],
  ['wrapModelCall', { wrapModelCall: refuse }],
  ['afterModel', { afterModel: refuse }],
];

test.each(onPurpose)('an AppError thrown by %s ends the turn with its words', async (_hook, middleware) => {
  const turn = await runWith({ middleware });
  expect(turn.message.status).toBe('failed');
  expect(errorOf(turn)).toMatchObject({ code: 'FORBIDDEN', error: 'Not on a Sunday.', retryable: false });
});

test('a ToolError thrown by wrapToolCall goes to the model in place of the result', async () => {
  const wrapToolCall = () => Promise.reject(new ToolError('AUTHORIZATION_REQUIRED', 'ask the user first'));
  const { message, doubler, model } = await runWith({ guard: { wrapToolCall } });
  expect(message.toolCalls).toMatchObject([{ status: 'error', error: 'AUTHORIZATION_REQUIRED: ask the user first' }]);
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('ask the user first');
  expect(doubler.runs).toBe(0);
});

test("the model's own failure passes through a wrapper that only looks on", async () => {
  const failing = () => Promise.reject(new AppError('MODEL_FAILED', 'gone'));
  const turn = await runWith({ onlooker: { wrapModelCall: (call, next) => next(call) } }, [failing]);
  expect(turn.message.status).toBe('failed');
  expect(turn.log).not.toContain('was left out');
});

test('onTurnEnd receives the turn with what the model used, step by step added up', async () => {
  const ends: TurnEnd[] = [];
  const usage = { inputTokens: 100, outputTokens: 7 };
  const steps: ScriptedStep[] = [
    { toolCalls: [{ name: 'double', args: { n: 1 } }], usage },
    { text: 'done', usage },
  ];
  await runWith({ listener: { onTurnEnd: (end) => void ends.push(end) } }, steps);
  expect(ends).toMatchObject([
    { status: 'complete', model: 'scripted', runId: expect.any(String), usage: { inputTokens: 200, outputTokens: 14 } },
  ]);
});

test('what arrived of an answer that broke off is counted as used', async () => {
  const ends: TurnEnd[] = [];
  const cut: Middleware = {
    onTurnEnd: (end) => void ends.push(end),
    beforeModel: () => undefined,
  };
  const model = createScriptedModel([]);
  model.doStream = async () => ({
    stream: ReadableStream.from([
      { type: 'stream-start', warnings: [] },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'x'.repeat(400) },
    ]) as never,
  });
  const plugin = createTestPlugin({ name: 'listener', getMiddlewares: () => [cut] });
  const runtime = await createTestRuntime(plugin, { model });
  const { message } = await runtime.send('go');
  await runtime.close();
  expect(message.status).toBe('failed');
  expect(ends[0]?.usage.outputTokens).toBe(100);
  expect(ends[0]?.usage.inputTokens).toBeGreaterThan(50);
});

const atRequest: [string, Partial<OraclePlugin>][] = [
  ['getRequestTools', { getRequestTools: boom }],
  ['getPromptSection', { getPromptSection: boom }],
  [
    'getRequestTools gives what no provider takes',
    { getRequestTools: () => ({ odd: { description: 'd', inputSchema: z.object({ at: z.date() }), execute: boom } }) },
  ],
];

test.each(atRequest)('a plugin whose %s fails is left out of the request and logged', async (_member, members) => {
  const lines: string[] = [];
  const logger = createLogger({ name: 'test', level: 'info', destination: { write: (line) => void lines.push(line) } });
  const plugins = [
    createTestPlugin({ name: 'broken', ...members }),
    createTestPlugin({ name: 'sound', getPromptSection: () => 'Sound.' }),
  ];
  const model = createScriptedModel(useTool);
  const runtime = await createTestRuntime(createDoubler(), { plugins, model, logger });
  const { message } = await runtime.send('go');
  await runtime.close();
  expect(message).toMatchObject({ status: 'complete', content: 'done' });
  expect(model.systemPrompts()[0]).toContain('Sound.');
  expect(lines.join('')).toContain('"plugin":"broken"');
});

test('a hook that changes modelId has another model answer', async () => {
  const main = createScriptedModel([], 'large');
  const utility = createScriptedModel([{ text: 'Small talk.' }], 'small');
  const plugin = createTestPlugin({
    name: 'chooser',
    getMiddlewares: () => [{ beforeModel: (call) => ({ ...call, modelId: 'small' }) }],
  });
  const runtime = await createTestRuntime(plugin, { model: { main, utility } });
  const { message } = await runtime.send('hi');
  await runtime.close();
  expect(message.content).toBe('Small talk.');
  expect(main.calls).toHaveLength(0);
});
