// What callers bring along: tools that they run themselves, and the conversation so far.
import { randomUUID } from 'node:crypto';
import { engines } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createScriptedModel,
  defineOraclePlugin,
  type OpenMessage,
  type PluginContext,
  type RunEvent,
} from '../src/index.ts';
import { createGate } from './gate-plugin.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const gate = createGate();
let ctx: PluginContext;
const opener = defineOraclePlugin({
  name: 'opener',
  version: '1.0.0',
  manifest: { title: 'Opener', summary: 'Opens runs.', whenToUse: [], visibility: 'silent', stability: 'stable' },
  setup(context) {
    ctx = context;
  },
});
const hidden = defineOraclePlugin({
  name: 'hidden',
  version: '1.0.0',
  manifest: {
    title: 'Hidden',
    summary: 'Is loaded.',
    whenToUse: ['never'],
    visibility: 'on-demand',
    stability: 'stable',
  },
  getTools: () => ({ hidden_tool: { description: 'Hidden.', inputSchema: {}, execute: () => 'hidden' } }),
});
const plugins = [opener, hidden, gate.plugin];

const callerTools = [
  {
    name: 'read_thermometer',
    description: 'The temperature.',
    schema: { type: 'object', properties: { room: { type: 'string' } } },
  },
];

async function ask(user: TestUser, message: string, more: Partial<OpenMessage> = {}) {
  const sessionId = more.sessionId ?? (await user.createSession());
  const body = { message, stream: true, returnAllMessages: false };
  const run = await ctx.open({ userDid: user.did, requestId: randomUUID(), body, ...more, sessionId });
  const events: RunEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return { sessionId, run, events, done: events.at(-1)?.data, answer: await run.answer() };
}

describe.each(engines)('caller tools on %s', (engine) => {
  let agent: TestAgent;
  beforeAll(async () => {
    agent = await startTestAgent({ engine, plugins });
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  test('end the run at their call; the result continues it, also after a restart', async () => {
    const ana = await agent.createUser();
    const first = await ask(ana, '/tool read_thermometer {"room":"kitchen"}', { callerTools });
    const call = { name: 'read_thermometer', args: { room: 'kitchen' }, status: 'isRunning' };
    expect(first.answer).toMatchObject({ status: 'complete', finish: 'tool_calls', toolCalls: [call] });
    expect(first.done).toMatchObject({
      status: 'complete',
      finish: 'tool_calls',
      usage: { inputTokens: expect.any(Number) },
    });
    const toolCallId = first.answer.toolCalls?.[0]?.id ?? '';
    await agent.restart();
    const { sessionId } = first;
    const output = { celsius: 21 };
    const foreign = ask(ana, '', { sessionId, results: [{ toolCallId: 'other', output }] });
    await expect(foreign).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    const second = await ask(ana, '', { sessionId, results: [{ toolCallId, output }], callerTools });
    expect(second.answer).toMatchObject({ status: 'complete', content: 'read_thermometer: {"celsius":21}' });
    const again = ask(ana, '', { sessionId, results: [{ toolCallId, output }] });
    await expect(again).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await ana.messages(sessionId)).toMatchObject([
      { type: 'human' },
      { type: 'ai', toolCalls: [{ id: toolCallId, status: 'isRunning' }] },
      { type: 'human', content: '', toolCalls: [{ id: toolCallId, status: 'done', output }] },
      { type: 'ai' },
    ]);
  });

  test('a run that waits behind another is stopped by its handle', async () => {
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const body = { message: '/tool gate {}', stream: true, returnAllMessages: false };
    const open = () => ctx.open({ userDid: ana.did, requestId: randomUUID(), sessionId, body });
    const first = await open();
    await gate.reached();
    const second = await open();
    expect(await second.abort()).toBe(true);
    expect(await second.answer()).toMatchObject({ status: 'aborted' });
    expect(await second.abort()).toBe(false);
    gate.open();
    expect(await first.answer()).toMatchObject({ status: 'complete' });
  });
});

describe('what the model reads', () => {
  const model = createScriptedModel([
    { text: 'one moment', toolCalls: [{ name: 'read_thermometer' }, { name: 'hidden_tool' }] },
    { text: 'never mind' },
    { text: 'as you say' },
    { text: 'and now' },
  ]);
  let agent: TestAgent;
  beforeAll(async () => {
    agent = await startTestAgent({ plugins, model });
  });
  afterAll(() => agent[Symbol.asyncDispose]());
  const promptOf = (call: number) => model.calls[call]?.prompt.filter(({ role }) => role !== 'system') ?? [];

  test('a call whose result never came has an error; an answer of another tool of the step stays', async () => {
    const ana = await agent.createUser();
    const { sessionId } = await ask(ana, 'how warm?', { callerTools });
    await ask(ana, 'forget it', { sessionId });
    expect(promptOf(1).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    const values = promptOf(1)[2]?.content as { toolName: string; output: { value: string } }[];
    expect(values).toMatchObject([
      { toolName: 'read_thermometer', output: { value: 'The caller gave no result.' } },
      { toolName: 'hidden_tool', output: { value: expect.stringContaining('TOOL_UNAVAILABLE') } },
    ]);
  });

  test('an earlier conversation reaches the model in this and later turns, and gives no rights', async () => {
    const ana = await agent.createUser();
    const call = {
      id: 'call-1',
      name: 'load_capability',
      args: { name: 'hidden' },
      status: 'done' as const,
      output: {},
    };
    const { sessionId } = await ask(ana, 'use it', {
      earlier: [
        { type: 'human', content: 'Be brief.' },
        { type: 'human', content: 'load it' },
        { type: 'ai', content: '', toolCalls: [call] },
      ],
    });
    const names = model.calls[2]?.tools?.map((tool) => tool.name) ?? [];
    expect(names).toContain('load_capability');
    expect(names).not.toContain('hidden_tool');
    expect(promptOf(2).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(JSON.stringify(promptOf(2)[0])).toMatch(/Be brief.*load it/);
    await ask(ana, 'go on', { sessionId });
    expect(promptOf(3).slice(0, 4)).toEqual(promptOf(2));
    expect(JSON.stringify(await ana.messages(sessionId))).not.toContain('Be brief');
  });

  test('what is too large is refused before the run', async () => {
    const ana = await agent.createUser();
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 100; level += 1) deep = { properties: deep };
    const refused = (more: Partial<OpenMessage>) => expect(ask(ana, 'hello', more)).rejects;
    const [tool] = callerTools as [(typeof callerTools)[0]];
    await refused({ callerTools: [{ ...tool, schema: deep }] }).toMatchObject({ code: 'VALIDATION_FAILED' });
    await refused({ callerTools: [{ ...tool, description: 'x'.repeat(40_000) }] }).toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    await refused({ callerTools: [{ ...tool, name: 'no spaces' }] }).toMatchObject({ code: 'VALIDATION_FAILED' });
    const long = { type: 'human' as const, content: 'x'.repeat(600_000) };
    await refused({ earlier: [long] }).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });
});
